-- Found by the class in-is-null on MariaDB 10.11.19.
-- A value that does not fit the type of a materialized subquery is not in it, although it has a NULL.
CREATE TABLE t(a BIGINT);
INSERT INTO t VALUES (5), (5000000000);
CREATE TABLE n(c INT);
INSERT INTO n VALUES (NULL), (0);
SELECT a, a IN (SELECT c FROM n) FROM t;
-- 10.11.19: (5, NULL), (5000000000, 0); the second must be NULL too.
