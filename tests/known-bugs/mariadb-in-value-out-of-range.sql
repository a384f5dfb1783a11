-- title: A value that does not fit the type of a materialized subquery is not in it, although it has a NULL.
-- engine: mariadb
-- status: open
-- found: class in-is-null on MariaDB 10.11.19
-- wrong: 10.1.23 to 11.8.9
-- right: none of those tried
-- newest: 11.8.9, wrong
-- cause: a value that cannot be converted to the key of the materialized table ends the search with FALSE
-- cure: optimizer_switch='materialization=off,in_to_exists=on' in the place of the script's
-- must-be: "If no match is found and the subquery contains at least one NULL, the result is NULL." (MariaDB
--   documentation, Subqueries with IN and NOT IN)
-- upstream: MDEV-40877 (pull request MariaDB/server#5718, open)
-- note: 10.11.19 and before show it without the SET as well; from 11.4.5 on the optimizer chooses in_to_exists for so
--   small a table
-- expected: 5 | NULL / 5000000000 | NULL
-- actual: 5 | NULL / 5000000000 | 0
CREATE TABLE t(a BIGINT);
INSERT INTO t VALUES (5), (5000000000);
CREATE TABLE n(c INT);
INSERT INTO n VALUES (NULL), (0);
SET optimizer_switch = 'in_to_exists=off';
SELECT a, a IN (SELECT c FROM n) FROM t;
