-- title: enum_range_boundary computes the range of the first row of a vector, and gives it to every row.
-- engine: duckdb
-- status: fixed in 2.0.0
-- found: oracle consistency (scan against materialised-derived-table) on DuckDB 1.5.6
-- wrong: 1.1.3 to 1.5.6
-- right: 2.0.0
-- newest: 2.0.0, right (2.0.1.dev2610211350, right)
-- cause: the function looks at the first row of a vector alone
-- cure: not PRAGMA disable_optimizer
-- must-be: "Returns the range between the two given enum values as an array." (DuckDB documentation, Enum Functions)
-- upstream: searched, none found
-- expected: 1 | [a, b] / 2 | [b] ; 2 | [b]
-- actual: 1 | [a, b] / 2 | [a, b] ; 2 | [b]
CREATE TYPE e AS ENUM ('a', 'b');
CREATE TABLE t(k INT, x e);
INSERT INTO t VALUES (1, 'a'), (2, 'b');
SELECT k, enum_range_boundary(x, NULL) FROM t;
SELECT k, enum_range_boundary(x, NULL) FROM t WHERE k = 2;
