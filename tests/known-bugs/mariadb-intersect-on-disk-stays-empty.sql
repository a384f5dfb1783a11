-- Found by the oracle consistency (switch against scan) on MariaDB 10.11.19.
-- A correlated INTERSECT or EXCEPT that is empty on one row is so on all later ones, where temporary tables are on disk.
CREATE TABLE t(a INT);
INSERT INTO t VALUES (0), (1);
SELECT a, EXISTS (SELECT 7 INTERSECT SELECT 7 FROM t AS x WHERE t.a = 1) FROM t;
SET tmp_memory_table_size = 0;
SELECT a, EXISTS (SELECT 7 INTERSECT SELECT 7 FROM t AS x WHERE t.a = 1) FROM t;
-- 10.11.19: (0, 0), (1, 1), then (0, 0), (1, 0); the second must be as the first.
