-- Found by the class norec-aggregates on MariaDB 10.11.19.
-- COUNT(DISTINCT constant) counts rows where temporary tables are on disk.
CREATE TABLE t(a INT);
INSERT INTO t VALUES (1), (2);
SELECT COUNT(DISTINCT 'b') FROM t;
SET tmp_memory_table_size = 0;
SELECT COUNT(DISTINCT 'b') FROM t;
-- 10.11.19: 1, then 2; the second must be 1 too.
