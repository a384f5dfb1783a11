-- Found by the class tautologies-keep-everything on MariaDB 10.11.19.
-- WHERE 0 AND ... returns a row when the rest is an IN that is materialized as a semijoin.
CREATE TABLE t(a INT);
INSERT INTO t VALUES (1);
SELECT a FROM t WHERE 0 AND (CASE CAST(NULL AS CHAR) WHEN a THEN NULL ELSE 1 END) IN (SELECT MAX(a) FROM t);
-- 10.11.19: 1; it must be no row.
