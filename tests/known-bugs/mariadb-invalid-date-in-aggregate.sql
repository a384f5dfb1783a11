-- title: What is no date is NULL as a date, but a date again in MIN, MAX and a scalar subquery.
-- engine: mariadb
-- status: open
-- found: oracle consistency (minimum, maximum and correlated-subquery against scan) on MariaDB 10.11.19
-- wrong: 10.11.5 to 11.8.9
-- right: 10.1.23, 10.2.11
-- newest: 11.8.9, wrong
-- cause: MIN and MAX keep the packed value of the text without the check that makes it NULL
-- cure: sql_buffer_result=1; no flag of optimizer_switch
-- must-be: "Returns the minimum value of expr." (MariaDB documentation, MIN): the one value of expr is NULL
-- upstream: searched, none found
-- expected: NULL | 0 | NULL
-- actual: NULL | 0 | 2020-02-30
CREATE TABLE t(k INT, s VARCHAR(20));
INSERT INTO t VALUES (1, '2020-02-30');
SELECT CAST(s AS DATE), COUNT(CAST(s AS DATE)), MIN(CAST(s AS DATE)) FROM t;
