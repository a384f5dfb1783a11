-- title: substring with a window that begins before the text, of a column that statistics know to be ASCII: its length
--   counts from the text's beginning.
-- engine: duckdb
-- status: fixed in 2.0.0
-- found: oracle consistency (scan against folded) on DuckDB 1.5.6
-- wrong: 1.1.0 to 1.5.6
-- right: 2.0.0
-- newest: 2.0.0, right (2.0.1.dev2610211350, right)
-- cause: the fast path for ASCII clamps the start before it adds the length
-- cure: disabled_optimizers='statistics_propagation'
-- must-be: "If optional argument `length` is set, extracts a substring of `length` characters instead." (DuckDB,
--   description in duckdb_functions() of 2.0.0); one call has one value
-- upstream: duckdb/duckdb#24766 (closed by duckdb/duckdb#25286)
-- expected: a | a | a
-- actual: ab | a | a
CREATE TABLE t(s VARCHAR);
INSERT INTO t VALUES ('ab');
SELECT substring(s, -3, 2), substring(s || '', -3, 2), substring('ab', -3, 2) FROM t;
