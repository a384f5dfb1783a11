-- title: A scalar subquery that gives a BIT, as key of GROUP BY, comes out as a BLOB of other bytes.
-- engine: duckdb
-- status: open
-- found: oracle consistency (scan against grouped-by-value) on DuckDB 2.0.0
-- wrong: 2.0.0
-- right: 1.1.3, 1.4.5, 1.5.6
-- newest: 2.0.0, wrong (2.0.1.dev2610211350, wrong)
-- cause: the key is kept as the bytes of the BIT and not made a BIT again
-- cure: not PRAGMA disable_optimizer, nor common_subplan, compressed_materialization, statistics_propagation or
--   expression_rewriter, each disabled alone
-- must-be: the key of GROUP BY is the value of its expression, a BIT; no page of the manual was read
-- upstream: searched, none found
-- expected: 01 ; 01
-- actual: 01 ; \x02\x03
SELECT (SELECT b FROM (SELECT '01'::BIT AS b));
SELECT (SELECT b FROM (SELECT '01'::BIT AS b)) GROUP BY 1;
