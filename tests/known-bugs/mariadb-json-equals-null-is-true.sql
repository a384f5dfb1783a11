-- Found by the class norec-aggregates on MariaDB 10.11.19.
-- JSON_EQUALS of a NULL is NULL, and true as a condition.
CREATE TABLE t(a INT);
INSERT INTO t VALUES (1);
SELECT JSON_EQUALS(NULL, '1'), IF(JSON_EQUALS(NULL, '1'), 'T', 'F') FROM t;
SELECT a FROM t WHERE JSON_EQUALS(NULL, '1');
-- 10.11.19: (NULL, T), then 1; it must be (NULL, F), then no row.
