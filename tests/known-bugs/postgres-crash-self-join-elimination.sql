-- title: The server ends with signal 11 when a join of a table with itself is eliminated and the row is used in a UNION
--   below IN.
-- engine: postgres
-- status: open
-- found: class exists-over-composite-key on PostgreSQL 18.4
-- wrong: 18.0 to 18.6
-- right: 12.22 to 17.11, 19rc1
-- newest: 18.6, wrong (19rc1, right)
-- cause: the reference to the eliminated copy stays in the subquery below UNION
-- cure: enable_self_join_elimination=off
-- crash: client backend was terminated by signal 11: Segmentation fault
-- must-be: "replaces self joins with semantically equivalent single scans" (PostgreSQL 18 documentation, 19.7 Query
--   Planning, enable_self_join_elimination)
-- upstream: searched, none found
-- expected: -1
-- actual: crash
CREATE TABLE t(a INT, b INT, PRIMARY KEY(a, b));
INSERT INTO t VALUES (-1, 100);
SELECT t.a FROM t JOIN t AS s ON s.a = t.a AND s.b = t.b WHERE t.a IN (SELECT 100 UNION ALL SELECT t.a);
