-- title: From the second row on, IN over a UNION forgets that there was a NULL.
-- engine: mariadb
-- status: open
-- found: class in-over-union-all on MariaDB 10.11.19
-- wrong: 10.1.23 to 11.8.9
-- right: none of those tried
-- newest: 11.8.9, wrong
-- cause: the mark "there was a NULL" is lost when the subquery is run again
-- cure: none of the flags of optimizer_switch, each turned over alone, nor any of 20 other settings
-- must-be: "If no match is found and the subquery contains at least one NULL, the result is NULL." (MariaDB
--   documentation, Subqueries with IN and NOT IN)
-- upstream: searched, none found
-- expected: 1 | 1 / 2 | NULL / 3 | NULL
-- actual: 1 | 1 / 2 | 0 / 3 | 0
CREATE TABLE t(a INT);
INSERT INTO t VALUES (1), (2), (3);
SELECT a, a IN (SELECT 1 UNION ALL SELECT NULL) FROM t;
