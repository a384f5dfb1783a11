-- Found by the class is-null-filter-on-padded-side-splits on MariaDB 10.11.19.
-- A condition on JSON_LENGTH(JSON_ARRAY(c)) makes an outer join an inner one, but is not NULL where c is.
CREATE TABLE t(a INT);
CREATE TABLE u(a INT);
INSERT INTO t VALUES (1);
SELECT t.a, u.a FROM t LEFT JOIN u ON t.a = u.a WHERE JSON_LENGTH(JSON_ARRAY(u.a)) = 1;
-- 10.11.19: no row; it must be (1, NULL).
