-- title: An internal error: IN over a recursive common table expression that uses nothing of the outer row, within a
--   subquery that does.
-- engine: duckdb
-- status: fixed in 2.0.0
-- found: oracle consistency (scan against scalar-subquery) on DuckDB 1.5.6
-- wrong: 1.4.3 to 1.5.6
-- right: 1.1.0 to 1.2.0, 1.4.0 to 1.4.2, 2.0.0 (1.3.2: not implemented)
-- newest: 2.0.0, right (2.0.1.dev2610211350, right)
-- cause: decorrelation binds the column of the outer row in a plan that does not have it
-- cure: no optimizer of duckdb_optimizers(), each disabled alone, nor PRAGMA disable_optimizer
-- crash: INTERNAL Error: Failed to bind column reference "a" [0.0] (bindings: {#[39.0]})
-- must-be: "This error signals an assertion failure within DuckDB." (the message that comes with it)
-- upstream: searched, none found for this one
-- expected: true / false
-- actual: error
CREATE TABLE t(a INT);
INSERT INTO t VALUES (1), (3);
SELECT (SELECT t.a IN (WITH RECURSIVE p(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM p WHERE x < 2) SELECT x FROM p)) FROM t;
