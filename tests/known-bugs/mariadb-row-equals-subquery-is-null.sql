-- title: A comparison of a row with a subquery of one row is true, and NULL too.
-- engine: mariadb
-- status: open
-- found: class tlp-group-by-expression on MariaDB 10.11.19
-- wrong: 10.1.23 to 11.8.9
-- right: none of those tried
-- newest: 11.8.9, wrong
-- cause: in the condition the comparison is not computed before IS NULL asks for it
-- cure: none of the flags of optimizer_switch, each turned over alone, nor any of 20 other settings
-- must-be: IS NULL "Tests whether a value is NULL." (MariaDB documentation, IS NULL), and the value is 1
-- upstream: searched, none found
-- expected: 1 ; 0
-- actual: 1 ; 1
CREATE TABLE t(c INT);
INSERT INTO t VALUES (1);
SELECT (c, c) = (SELECT MAX(x.c), MIN(x.c) FROM t AS x) FROM t;
SELECT COUNT(*) FROM t WHERE ((c, c) = (SELECT MAX(x.c), MIN(x.c) FROM t AS x)) IS NULL;
