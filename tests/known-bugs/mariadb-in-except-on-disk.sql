-- title: IN over an EXCEPT finds nothing where temporary tables are on disk.
-- engine: mariadb
-- status: open
-- found: by hand, on MariaDB 10.11.19
-- wrong: 10.11.5 to 11.8.9
-- right: none of those tried (10.1.23 and 10.2.11 have no EXCEPT)
-- newest: 11.8.9, wrong
-- cause: the temporary table on disk is not emptied or filled again for the next row
-- cure: tmp_memory_table_size above 0 (the script sets it to 0); no flag of optimizer_switch
-- must-be: "IN evaluates to TRUE if the comparison returns TRUE for at least one row produced by the subquery."
--   (MariaDB documentation, Subqueries with IN and NOT IN)
-- upstream: searched, none found
-- expected: 0 | 0 / 3 | 1 ; 0 | 0 / 3 | 1
-- actual: 0 | 0 / 3 | 1 ; 0 | 0 / 3 | 0
CREATE TABLE t(c INT);
INSERT INTO t VALUES (0), (3);
SELECT c, c IN (SELECT c FROM t EXCEPT SELECT 0) FROM t;
SET tmp_memory_table_size = 0;
SELECT c, c IN (SELECT c FROM t EXCEPT SELECT 0) FROM t;
