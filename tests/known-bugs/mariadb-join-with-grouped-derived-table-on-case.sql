-- title: A join finds nothing in a grouped derived table where the join with the table itself finds a row.
-- engine: mariadb
-- status: open
-- found: class scalar-count-and-sum-subquery on MariaDB 10.11.19
-- wrong: 10.11.5 to 11.8.9
-- right: 10.1.23, 10.2.11
-- newest: 11.8.9, wrong
-- cause: the CASE that is pushed into the derived table as its key has another value there
-- cure: optimizer_switch='split_materialized=off'; optimizer_switch='derived_with_keys=off'
-- must-be: "The first version returns the result for the first value=compare_value comparison that is true." (MariaDB
--   documentation, CASE OPERATOR): 2 for the row of x
-- upstream: searched, none found for CASE; kin of the same optimization: MDEV-37407, MDEV-37057, MDEV-31887
-- expected: 2 ; 2
-- actual: 2 ; -
CREATE TABLE x(c INT);
INSERT INTO x VALUES (1);
CREATE TABLE t(a INT UNIQUE);
INSERT INTO t VALUES (0), (2);
SELECT t.a FROM x JOIN t ON t.a = CASE x.c WHEN 1 THEN 2 END;
SELECT s.a FROM x JOIN (SELECT a, COUNT(*) FROM t GROUP BY a) AS s ON s.a = CASE x.c WHEN 1 THEN 2 END;
