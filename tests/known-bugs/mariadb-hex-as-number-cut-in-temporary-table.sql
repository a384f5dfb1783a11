-- Found by the oracle consistency (union-all against scan) on MariaDB 10.11.19.
-- HEX as a number of more than 17 digits is cut where a temporary table is DOUBLE(17, 0).
SELECT HEX('1234567890') + 0;
SELECT HEX('1234567890') + 0 UNION ALL SELECT 1;
-- 10.11.19: 31323334353637384000, then 100000000000000000 and 1; it must be 31323334353637384000 both times.
