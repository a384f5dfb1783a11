-- title: A condition on INTERVAL() changes when it is pushed into a derived table.
-- engine: mariadb
-- status: open
-- found: class tlp-table-placeholder on MariaDB 10.11.19
-- wrong: 10.2.11 to 11.8.9
-- right: 10.1.23
-- newest: 11.8.9, wrong
-- cause: the copy of INTERVAL that is pushed down reads the bounds of the original
-- cure: optimizer_switch='condition_pushdown_for_derived=off'
-- must-be: "Returns 0 if N0 < N1, 1 if N1 <= N0 < N2, 2 if N2 <= N0 < N3 and so on" (MariaDB documentation, INTERVAL)
-- upstream: searched, none found
-- expected: -1 ; -1
-- actual: -1 ; -
CREATE TABLE t(a INT);
INSERT INTO t VALUES (1), (-1);
SELECT a FROM t WHERE INTERVAL(a, 0, 10) = 0;
SELECT a FROM (SELECT DISTINCT a FROM t) AS d WHERE INTERVAL(a, 0, 10) = 0;
