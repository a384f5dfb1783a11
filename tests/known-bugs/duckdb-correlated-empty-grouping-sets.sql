-- title: Several empty grouping sets over no row, in a correlated subquery, make one row together.
-- engine: duckdb
-- status: open
-- found: oracle consistency (scan against folded) on DuckDB 1.5.6
-- wrong: 1.1.0 to 2.0.0
-- right: none of those tried
-- newest: 2.0.0, wrong (2.0.1.dev2610211350, wrong)
-- cause: decorrelation adds one row for the empty set of rows, not one for each empty grouping set
-- cure: no optimizer of duckdb_optimizers(), each disabled alone, nor PRAGMA disable_optimizer
-- must-be: "the above query is equivalent to the following statement of `UNION ALL` clauses", one for each set (DuckDB
--   documentation, GROUPING SETS); the second query, without correlation, gives 2
-- upstream: searched, none found for several empty sets; kin: duckdb/duckdb#7219 (two empty sets, closed),
--   duckdb/duckdb#12582 (correlated empty and other sets, closed)
-- expected: 2 ; 2
-- actual: 1 ; 2
CREATE TABLE t(a INT);
INSERT INTO t VALUES (1);
SELECT (SELECT count(*) FROM (SELECT count(*) FROM t AS u WHERE u.a > t.a GROUP BY GROUPING SETS ((), ()))) FROM t;
SELECT (SELECT count(*) FROM (SELECT count(*) FROM t AS u WHERE u.a > 1 GROUP BY GROUPING SETS ((), ()))) FROM t;
