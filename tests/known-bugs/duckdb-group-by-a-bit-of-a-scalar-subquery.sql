-- Found by the oracle consistency (scan against grouped-by-value) on DuckDB 2.0.0.
-- A scalar subquery that gives a BIT, as key of GROUP BY, comes out as a BLOB of other bytes.
SELECT (SELECT b FROM (SELECT '01'::BIT AS b));
SELECT (SELECT b FROM (SELECT '01'::BIT AS b)) GROUP BY 1;
-- 2.0.0: the bits 01, then the BLOB \x02\x03; it must be the bits 01 both times. (1.1.0 to 1.5.6: right)
