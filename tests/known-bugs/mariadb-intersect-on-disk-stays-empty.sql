-- title: A correlated INTERSECT or EXCEPT that is empty on one row is so on all later ones, where temporary tables are
--   on disk.
-- engine: mariadb
-- status: open
-- found: oracle consistency (switch against scan) on MariaDB 10.11.19
-- wrong: 10.11.5 to 11.8.9
-- right: none of those tried (10.1.23 and 10.2.11 have no INTERSECT)
-- newest: 11.8.9, wrong
-- cause: the temporary table on disk is not set up again for the next row
-- cure: tmp_memory_table_size above 0 (the script sets it to 0); no flag of optimizer_switch
-- must-be: "Subqueries using the EXISTS keyword will return true if the subquery returns any rows." (MariaDB
--   documentation, Subqueries and EXISTS)
-- upstream: searched, none found
-- expected: 0 | 0 / 1 | 1 ; 0 | 0 / 1 | 1
-- actual: 0 | 0 / 1 | 1 ; 0 | 0 / 1 | 0
CREATE TABLE t(a INT);
INSERT INTO t VALUES (0), (1);
SELECT a, EXISTS (SELECT 7 INTERSECT SELECT 7 FROM t AS x WHERE t.a = 1) FROM t;
SET tmp_memory_table_size = 0;
SELECT a, EXISTS (SELECT 7 INTERSECT SELECT 7 FROM t AS x WHERE t.a = 1) FROM t;
