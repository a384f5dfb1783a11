-- Found by the classes eet-inner-join-on, tlp-count and candidate-a06 on MariaDB 10.11.19.
-- A comparison of rows that is NULL is not NULL to IS NULL, neither in the select list nor in WHERE.
CREATE TABLE t(a INT, b INT);
INSERT INTO t VALUES (1, NULL);
SELECT (a, b) = (b, a), ((a, b) = (b, a)) IS NULL FROM t;
SELECT COUNT(*) FROM t WHERE ((a, b) = (b, a)) IS NULL;
-- 10.11.19: (NULL, 0), then 0; it must be (NULL, 1), then 1. With < in the place of = the same.
