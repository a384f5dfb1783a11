-- Found by the oracle consistency (switched-derived-table against scan) on MariaDB 10.11.19.
-- With sql_buffer_result, IN over a UNION does not find a value that follows a NULL.
CREATE TABLE t(a INT);
INSERT INTO t VALUES (NULL), (3);
SELECT 3 IN (SELECT a FROM t UNION SELECT 1);
SET sql_buffer_result = 1;
SELECT 3 IN (SELECT a FROM t UNION SELECT 1);
-- 10.11.19: 1, then NULL; it must be 1 both times.
