-- title: An error: a correlated common table expression within EXISTS whose column is a subquery.
-- engine: duckdb
-- status: open
-- found: class cte-inside-exists on DuckDB 1.4.5
-- wrong: 1.4.0 to 2.0.0
-- right: 1.1.0 to 1.3.2
-- newest: 2.0.0, wrong (2.0.1.dev2610211350, wrong)
-- cause: decorrelation loses the column (1.4), or its place in a table of the optimizer common_subplan (from 1.5.0)
-- cure: none; disabled_optimizers='common_subplan' brings the error of 1.4 back
-- crash: 1.4.0 to 1.4.5: INTERNAL Error: Failed to bind column reference "c1" [8.0] (bindings: {#[15.0]}); 1.5.0 to
--   2.0.0: Invalid Error: unordered_map::at
-- must-be: "This error signals an assertion failure within DuckDB." (the message that comes with it); the tables are
--   empty
-- upstream: searched, none found for this one; kin: duckdb/duckdb#24921 (a correlated common table expression in
--   LATERAL, closed)
-- expected: -
-- actual: error
CREATE TABLE t(c0 BIGINT);
CREATE TABLE v(c0 BIGINT, c1 BIGINT);
SELECT 1 FROM t WHERE EXISTS (WITH s AS (SELECT (SELECT v.c1) AS w FROM v) SELECT 1 FROM s WHERE s.w = t.c0);
