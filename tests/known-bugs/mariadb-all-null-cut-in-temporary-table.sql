-- Found by the oracle consistency (union against scan) on MariaDB 10.11.19.
-- A comparison with ALL or ANY that is NULL is 0 where it passes a temporary table, whose column is NOT NULL.
CREATE TABLE t(a INT);
INSERT INTO t VALUES (NULL);
SELECT 0 > ALL (SELECT a FROM t);
SELECT 0 > ALL (SELECT a FROM t) UNION SELECT 0 > ALL (SELECT a FROM t);
-- 10.11.19: NULL, then 0; it must be NULL both times.
