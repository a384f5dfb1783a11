-- Found by the oracle consistency (union, intersect and window against scan) on MariaDB 10.11.19.
-- A literal with an exponent, as text, is cut to as many characters as the literal has, where it passes a temporary table.
SELECT CONCAT(1e-10);
SELECT CONCAT(1e-10) UNION ALL SELECT 1;
-- 10.11.19: 0.0000000001, then 0.000 and 1; it must be 0.0000000001 both times.
