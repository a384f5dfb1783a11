-- title: A comparison of TRY_CAST with a constant is made without the cast, so that a failed one is not NULL.
-- engine: duckdb
-- status: fixed in 2.0.0
-- found: classes case-as-filter and null-safe-equality-join on DuckDB 1.4.5
-- wrong: 1.1.0 to 1.5.6
-- right: 2.0.0
-- newest: 2.0.0, right (2.0.1.dev2610211350, right)
-- cause: the simplification of comparisons drops a narrowing cast as if it could be turned back
-- cure: disabled_optimizers='expression_rewriter'
-- must-be: "`TRY_CAST` will never throw an error, and will instead return `NULL` if a cast is not possible." (DuckDB
--   documentation, Casting)
-- upstream: duckdb/duckdb#23687 (closed)
-- expected: NULL | NULL
-- actual: NULL | true
CREATE TABLE t(a BIGINT);
INSERT INTO t VALUES (2147483647);
SELECT TRY_CAST(a AS SMALLINT), TRY_CAST(a AS SMALLINT) > 0 FROM t;
