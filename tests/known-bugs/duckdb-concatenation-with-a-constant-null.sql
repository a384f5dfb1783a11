-- title: A call of || with a constant NULL becomes an untyped NULL, which a cast to a UNION makes NULL instead of a
--   union that holds NULL.
-- engine: duckdb
-- status: fixed in 2.0.0
-- found: oracle consistency (scan against prepared) on DuckDB 1.5.6
-- wrong: 1.1.0 to 1.5.6
-- right: 2.0.0
-- newest: 2.0.0, right (2.0.1.dev2610211350, right)
-- cause: the call is folded to a NULL without its type
-- cure: no optimizer of duckdb_optimizers(), each disabled alone, nor PRAGMA disable_optimizer
-- must-be: "Concatenates two strings, lists, or blobs. Any `NULL` input results in `NULL`." (DuckDB, description in
--   duckdb_functions() of 2.0.0); the type of both calls is VARCHAR
-- upstream: searched, none found
-- expected: VARCHAR | false ; VARCHAR | false
-- actual: VARCHAR | false ; "NULL" | true
CREATE TABLE t(i INT);
INSERT INTO t VALUES (NULL);
SELECT typeof('a' || i), ('a' || i)::UNION(n VARCHAR) IS NULL FROM t;
SELECT typeof('a' || NULL::INT), ('a' || NULL::INT)::UNION(n VARCHAR) IS NULL FROM t;
