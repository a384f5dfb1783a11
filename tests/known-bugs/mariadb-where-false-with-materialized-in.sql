-- title: WHERE 0 AND ... returns a row when the rest is an IN that is materialized as a semijoin.
-- engine: mariadb
-- status: open
-- found: class tautologies-keep-everything on MariaDB 10.11.19
-- wrong: 10.11.5 to 11.8.9
-- right: 10.1.23, 10.2.11
-- newest: 11.8.9, wrong
-- cause: the constant 0 is dropped when IN becomes a semijoin
-- cure: optimizer_switch='materialization=off'; optimizer_switch='semijoin=off'
-- must-be: "Evaluates to 1 if all operands are non-zero and not NULL, to 0 if one or more operands are 0" (MariaDB
--   documentation, AND)
-- upstream: searched, none found
-- expected: -
-- actual: 1
CREATE TABLE t(a INT);
INSERT INTO t VALUES (1);
SELECT a FROM t WHERE 0 AND (CASE CAST(NULL AS CHAR) WHEN a THEN NULL ELSE 1 END) IN (SELECT MAX(a) FROM t);
