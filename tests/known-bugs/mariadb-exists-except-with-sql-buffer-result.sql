-- title: With sql_buffer_result, EXISTS over an EXCEPT or INTERSECT takes only the first row of the first query.
-- engine: mariadb
-- status: open
-- found: oracle consistency (switched-derived-table against scan) on MariaDB 10.11.19
-- wrong: 10.11.5 to 11.8.9
-- right: none of those tried (10.1.23 and 10.2.11 have no EXCEPT)
-- newest: 11.8.9, wrong
-- cause: the limit of one row that EXISTS sets is applied to the first query before the other is taken away
-- cure: sql_buffer_result=0 (the script sets it to 1); no flag of optimizer_switch
-- must-be: "Subqueries using the EXISTS keyword will return true if the subquery returns any rows." (MariaDB
--   documentation, Subqueries and EXISTS)
-- upstream: searched, none found
-- expected: 1 ; 1
-- actual: 1 ; 0
CREATE TABLE t(a INT);
INSERT INTO t VALUES (1), (2);
SELECT EXISTS (SELECT a FROM t EXCEPT SELECT 1);
SET sql_buffer_result = 1;
SELECT EXISTS (SELECT a FROM t EXCEPT SELECT 1);
