-- Found by the oracle consistency (scan against folded) on DuckDB 1.5.6.
-- Several empty grouping sets over no row, in a correlated subquery: they make one row together.
CREATE TABLE t(a INT);
INSERT INTO t VALUES (1);
SELECT (SELECT count(*) FROM (SELECT count(*) FROM t AS u WHERE u.a > t.a GROUP BY GROUPING SETS ((), ()))) FROM t;
SELECT (SELECT count(*) FROM (SELECT count(*) FROM t AS u WHERE u.a > 1 GROUP BY GROUPING SETS ((), ()))) FROM t;
-- 1.5.6: 1, then 2; it must be 2 both times, a row for each empty grouping set. (1.1.0, 1.4.5, 2.0.0: the same)
