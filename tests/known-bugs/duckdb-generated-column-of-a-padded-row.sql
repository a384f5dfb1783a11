-- title: A virtual generated column is computed after the outer join, also for the row that the join adds.
-- engine: duckdb
-- status: open
-- found: class null-rejecting-predicate-makes-inner-join on DuckDB 1.4.5
-- wrong: 1.1.0 to 2.0.0
-- right: none of those tried
-- newest: 2.0.0, wrong (2.0.1.dev2610211350, wrong)
-- cause: the expression of the column takes its place above the join
-- cure: no optimizer of duckdb_optimizers(), each disabled alone, nor PRAGMA disable_optimizer
-- must-be: "should be NULL, NULL" (duckdb/duckdb#24048), as an outer join pads every column; no page of the manual was
--   read
-- upstream: duckdb/duckdb#24048 (open)
-- expected: NULL | NULL ; NULL | NULL
-- actual: NULL | 7 ; NULL | NULL
CREATE TABLE t(a BIGINT);
INSERT INTO t VALUES (1);
CREATE TABLE u(b INT, g INT GENERATED ALWAYS AS (coalesce(b, 7)) VIRTUAL);
SELECT u.b, u.g FROM t LEFT JOIN u ON t.a = u.b;
SELECT u.b, u.g FROM t LEFT JOIN (SELECT * FROM u) AS u ON t.a = u.b;
