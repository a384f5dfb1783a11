-- title: JSON_EQUALS of a NULL is NULL, and true as a condition.
-- engine: mariadb
-- status: open
-- found: class norec-aggregates on MariaDB 10.11.19
-- wrong: 10.11.19, 11.8.9
-- right: 10.11.5, 11.4.5, 11.8.6 (10.1.23 and 10.2.11 have no JSON_EQUALS)
-- newest: 11.8.9, wrong
-- cause: since a fix of a crash the function returns 1 beside the mark that says NULL, and a condition reads the 1
-- cure: none of the flags of optimizer_switch, each turned over alone, nor any of 20 other settings
-- must-be: "Returns 1 if it there is, 0 if not, or NULL if any of the arguments are null." (MariaDB documentation,
--   JSON_EQUALS)
-- upstream: searched, none found; the `return 1` came with the fix of MDEV-40414 (pull request MariaDB/server#5422,
--   merged)
-- expected: NULL | F ; -
-- actual: NULL | T ; 1
CREATE TABLE t(a INT);
INSERT INTO t VALUES (1);
SELECT JSON_EQUALS(NULL, '1'), IF(JSON_EQUALS(NULL, '1'), 'T', 'F') FROM t;
SELECT a FROM t WHERE JSON_EQUALS(NULL, '1');
