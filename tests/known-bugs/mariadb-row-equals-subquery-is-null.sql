-- Found by the class tlp-group-by-expression on MariaDB 10.11.19.
-- A comparison of a row with a subquery of one row is true, and NULL too.
CREATE TABLE t(c INT);
INSERT INTO t VALUES (1);
SELECT (c, c) = (SELECT MAX(x.c), MIN(x.c) FROM t AS x) FROM t;
SELECT COUNT(*) FROM t WHERE ((c, c) = (SELECT MAX(x.c), MIN(x.c) FROM t AS x)) IS NULL;
-- 10.11.19: 1, then 1; the second must be 0.
