-- Found by the class in-over-union-all on MariaDB 10.11.19.
-- A scalar subquery on the left of IN is taken as 0 when the right side is materialized as a semijoin.
CREATE TABLE t(a INT);
INSERT INTO t VALUES (2);
SELECT a FROM t WHERE (SELECT MIN(a) FROM t) IN (SELECT MAX(a) FROM t);
SELECT (SELECT MIN(a) FROM t) IN (SELECT MAX(a) FROM t);
-- 10.11.19: no row, then 1; the first must be 2.
