-- title: A scalar subquery on the left of IN is taken as 0 when the right side is materialized as a semijoin.
-- engine: mariadb
-- status: open
-- found: class in-over-union-all on MariaDB 10.11.19
-- wrong: 10.11.19 to 11.8.9
-- right: 10.1.23, 10.2.11, 10.11.5
-- newest: 11.8.9, wrong
-- cause: the scalar subquery is not computed before it is put into the key of the materialized table
-- cure: optimizer_switch='materialization=off'; optimizer_switch='semijoin=off'
-- must-be: "IN evaluates to TRUE if the comparison returns TRUE for at least one row produced by the subquery."
--   (MariaDB documentation, Subqueries with IN and NOT IN)
-- upstream: searched, none found
-- expected: 2 ; 1
-- actual: - ; 1
CREATE TABLE t(a INT);
INSERT INTO t VALUES (2);
SELECT a FROM t WHERE (SELECT MIN(a) FROM t) IN (SELECT MAX(a) FROM t);
SELECT (SELECT MIN(a) FROM t) IN (SELECT MAX(a) FROM t);
