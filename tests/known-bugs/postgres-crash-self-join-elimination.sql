-- Found by the class exists-over-composite-key on PostgreSQL 18.4.
-- The server ends with signal 11 when a join of a table with itself is eliminated and the row is used in a UNION below IN.
CREATE TABLE t(a INT, b INT, PRIMARY KEY(a, b));
INSERT INTO t VALUES (-1, 100);
SELECT t.a FROM t JOIN t AS s ON s.a = t.a AND s.b = t.b WHERE t.a IN (SELECT 100 UNION ALL SELECT t.a);
-- 18.4 and 18.6: crash; it must be -1, as it is with enable_self_join_elimination = off, and on 17.7.
