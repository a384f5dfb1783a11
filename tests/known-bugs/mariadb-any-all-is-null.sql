-- Found by the class all-comparisons-by-count-and-max on MariaDB 10.11.19.
-- A comparison with ANY or ALL that is NULL is not NULL to IS NULL.
CREATE TABLE t(a INT);
INSERT INTO t VALUES (-1), (NULL);
SELECT 7 < ANY (SELECT a FROM t), (7 < ANY (SELECT a FROM t)) IS NULL, (-1 <= ALL (SELECT a FROM t)) IS NULL;
-- 10.11.19: NULL, 0, 0; it must be NULL, 1, 1.
