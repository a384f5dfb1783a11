-- Found by the oracle consistency (switched-derived-table against scan) on MariaDB 10.11.19.
-- With sql_buffer_result, EXISTS over an EXCEPT or INTERSECT takes only the first row of the first query.
CREATE TABLE t(a INT);
INSERT INTO t VALUES (1), (2);
SELECT EXISTS (SELECT a FROM t EXCEPT SELECT 1);
SET sql_buffer_result = 1;
SELECT EXISTS (SELECT a FROM t EXCEPT SELECT 1);
-- 10.11.19: 1, then 0; it must be 1 both times.
