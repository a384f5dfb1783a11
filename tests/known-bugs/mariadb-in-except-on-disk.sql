-- Found on MariaDB 10.11.19.
-- IN over an EXCEPT finds nothing where temporary tables are on disk.
CREATE TABLE t(c INT);
INSERT INTO t VALUES (0), (3);
SELECT c, c IN (SELECT c FROM t EXCEPT SELECT 0) FROM t;
SET tmp_memory_table_size = 0;
SELECT c, c IN (SELECT c FROM t EXCEPT SELECT 0) FROM t;
-- 10.11.19: (0, 0), (3, 1), then (0, 0), (3, 0); the second must be as the first.
