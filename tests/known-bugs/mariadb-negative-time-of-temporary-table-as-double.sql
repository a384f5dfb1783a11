-- Found by the oracle consistency (folded-row against scan) on MariaDB 10.11.19.
-- A negative TIME of a temporary table is positive as a DOUBLE: 24 bits are read without their sign.
SELECT a, a + 0, a + 0e0, LOG10(a) FROM (SELECT TIME '-12:34:56' AS a) AS d;
-- 10.11.19: (-12:34:56, -123456, 16653760, 7.22); the last two must be -123456 and NULL, as of a column of a table.
