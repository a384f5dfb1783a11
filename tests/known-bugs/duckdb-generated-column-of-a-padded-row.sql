-- Found by the class null-rejecting-predicate-makes-inner-join on DuckDB 1.4.5.
-- A virtual generated column is computed after the outer join, also for the row that the join adds.
CREATE TABLE t(a BIGINT);
INSERT INTO t VALUES (1);
CREATE TABLE u(b INT, g INT GENERATED ALWAYS AS (coalesce(b, 7)) VIRTUAL);
SELECT u.b, u.g FROM t LEFT JOIN u ON t.a = u.b;
SELECT u.b, u.g FROM t LEFT JOIN (SELECT * FROM u) AS u ON t.a = u.b;
-- 1.1.3 to 2.0.0: (NULL, 7), then (NULL, NULL); it must be (NULL, NULL) both times.
