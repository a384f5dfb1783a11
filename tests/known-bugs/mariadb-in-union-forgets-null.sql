-- Found by the class in-over-union-all on MariaDB 10.11.19.
-- From the second row on, IN over a UNION forgets that there was a NULL.
CREATE TABLE t(a INT);
INSERT INTO t VALUES (1), (2), (3);
SELECT a, a IN (SELECT 1 UNION ALL SELECT NULL) FROM t;
-- 10.11.19: (1, 1), (2, 0), (3, 0); the last two must be NULL.
