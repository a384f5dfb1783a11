-- title: With sql_buffer_result, IN over a UNION does not find a value that follows a NULL.
-- engine: mariadb
-- status: open
-- found: oracle consistency (switched-derived-table against scan) on MariaDB 10.11.19
-- wrong: 10.1.23 to 11.8.9
-- right: none of those tried
-- newest: 11.8.9, wrong
-- cause: the first row alone decides
-- cure: sql_buffer_result=0 (the script sets it to 1); no flag of optimizer_switch
-- must-be: "IN evaluates to TRUE if the comparison returns TRUE for at least one row produced by the subquery."
--   (MariaDB documentation, Subqueries with IN and NOT IN)
-- upstream: searched, none found
-- expected: 1 ; 1
-- actual: 1 ; NULL
CREATE TABLE t(a INT);
INSERT INTO t VALUES (NULL), (3);
SELECT 3 IN (SELECT a FROM t UNION SELECT 1);
SET sql_buffer_result = 1;
SELECT 3 IN (SELECT a FROM t UNION SELECT 1);
