-- title: parse_filename looks at the first row of a vector alone to see whether its option is NULL: another row's
--   option decides.
-- engine: duckdb
-- status: fixed in 2.0.0
-- found: oracle consistency (scan against ordered-by-key) on DuckDB 1.5.6
-- wrong: 1.1.0 to 1.5.6
-- right: 2.0.0
-- newest: 2.0.0, right (2.0.1.dev2610211350, right)
-- cause: the option is read from the first row of a vector
-- cure: no optimizer of duckdb_optimizers(), each disabled alone, nor PRAGMA disable_optimizer
-- must-be: "If `trim_extension` is `true`, the file extension will be removed (defaults to `false`)." (DuckDB,
--   description in duckdb_functions() of 2.0.0)
-- upstream: searched, none found
-- note: 1.2.0 gives b.c for every row of both queries
-- expected: NULL | b.c / true | b ; true | b / NULL | b.c
-- actual: NULL | b.c / true | b.c ; true | b / NULL | NULL
CREATE TABLE t(b BOOLEAN);
INSERT INTO t VALUES (NULL), (TRUE);
SELECT b, parse_filename('a/b.c', b) FROM t;
SELECT b, parse_filename('a/b.c', b) FROM (SELECT b FROM t ORDER BY b NULLS LAST LIMIT 2);
