-- Found by the oracle consistency (scan against scalar-subquery) on DuckDB 1.5.6.
-- An internal error: IN over a recursive CTE that uses nothing of the outer row, within a subquery that does.
CREATE TABLE t(a INT);
INSERT INTO t VALUES (1), (3);
SELECT (SELECT t.a IN (WITH RECURSIVE p(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM p WHERE x < 2) SELECT x FROM p)) FROM t;
-- 1.5.6: Failed to bind column reference "a" [0.0]; it must be true, false. (2.0.0, 1.1.0: right; 1.3.4: not supported; 1.4.5: the error)
