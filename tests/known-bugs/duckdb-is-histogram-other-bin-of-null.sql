-- title: An internal error: is_histogram_other_bin of a NULL in a constant vector.
-- engine: duckdb
-- status: fixed in 2.0.0
-- found: oracle consistency (scan against folded-row) on DuckDB 1.5.6
-- wrong: 1.5.2 to 1.5.6
-- right: 2.0.0
-- newest: 2.0.0, right (2.0.1.dev2610211350, right)
-- cause: the NULL of a constant vector is set as if the vector were flat
-- cure: no optimizer of duckdb_optimizers(), each disabled alone, nor PRAGMA disable_optimizer
-- crash: INTERNAL Error: Operation requires a flat vector but a non-flat vector was encountered
-- must-be: "This error signals an assertion failure within DuckDB." (the message that comes with it)
-- upstream: searched, none found; the error came with the release that has duckdb/duckdb#21841, "Fix
--   is_histogram_other_bin handle null" (merged)
-- note: 1.1.0 to 1.5.1 give no error, but false for the NULL of a row and NULL for the constant
-- expected: NULL | NULL ; NULL
-- actual: NULL | NULL ; error
CREATE TABLE t(a INT);
INSERT INTO t VALUES (NULL);
SELECT is_histogram_other_bin(a), is_histogram_other_bin(NULL::INT) FROM t;
SELECT is_histogram_other_bin(a) FROM (SELECT NULL::INT AS a);
