-- title: A comparison with ANY or ALL that is NULL is not NULL to IS NULL.
-- engine: mariadb
-- status: open
-- found: class all-comparisons-by-count-and-max on MariaDB 10.11.19
-- wrong: 10.1.23 to 11.8.9
-- right: none of those tried
-- newest: 11.8.9, wrong
-- cause: the comparison is taken to be NOT NULL, so IS NULL folds to 0
-- cure: none of the flags of optimizer_switch, each turned over alone, nor any of 20 other settings
-- must-be: "NULL if the comparison operator returns NULL for at least one row returned by the table subquery and
--   doesn't returns TRUE for any of them" (MariaDB documentation, Subqueries With ANY and SOME)
-- upstream: searched, none found
-- expected: NULL | 1 | 1
-- actual: NULL | 0 | 0
CREATE TABLE t(a INT);
INSERT INTO t VALUES (-1), (NULL);
SELECT 7 < ANY (SELECT a FROM t), (7 < ANY (SELECT a FROM t)) IS NULL, (-1 <= ALL (SELECT a FROM t)) IS NULL;
