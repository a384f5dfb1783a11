-- Found by the oracle consistency (scan against scalar-subquery) on PostgreSQL 17.6.
-- IN over a subquery that depends on a row two levels up, through an outer join's padded column: its answers are hashed once,
-- for the first row, and looked up for all.
CREATE TABLE t(a INT);
CREATE TABLE s(b INT);
INSERT INTO t VALUES (1), (2);
SELECT a, 2 IN (SELECT b FROM s WHERE FALSE UNION ALL SELECT (SELECT y.x FROM (SELECT t.a AS x) AS y RIGHT JOIN (SELECT 1) AS z ON TRUE)) FROM t;
SELECT a, (SELECT 2 IN (SELECT b FROM s WHERE FALSE UNION ALL SELECT (SELECT y.x FROM (SELECT t.a AS x) AS y RIGHT JOIN (SELECT 1) AS z ON TRUE))) FROM t;
-- 15.20, 17.6, 18.4 and 18.6: (1, f), (2, t), then (1, f), (2, f); it must be (1, f), (2, t) both times, as with OFFSET 0 in the subquery of IN.
