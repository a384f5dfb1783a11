-- title: A comparison with ALL or ANY that is NULL is 0 where it passes a temporary table.
-- engine: mariadb
-- status: open
-- found: oracle consistency (union against scan) on MariaDB 10.11.19
-- wrong: 10.1.23 to 11.8.9
-- right: none of those tried
-- newest: 11.8.9, wrong
-- cause: the comparison is taken to be NOT NULL, so the column of the temporary table is
-- cure: none of the flags of optimizer_switch, each turned over alone, nor any of 20 other settings
-- must-be: "NULL if the comparison operator returns NULL for at least one row returned by the Table subquery" (MariaDB
--   documentation, Subqueries and ALL)
-- upstream: searched, none found
-- expected: NULL ; NULL
-- actual: NULL ; 0
CREATE TABLE t(a INT);
INSERT INTO t VALUES (NULL);
SELECT 0 > ALL (SELECT a FROM t);
SELECT 0 > ALL (SELECT a FROM t) UNION SELECT 0 > ALL (SELECT a FROM t);
