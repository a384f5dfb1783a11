-- Found by the class tlp-table-placeholder on MariaDB 10.11.19.
-- A condition on INTERVAL() changes when it is pushed into a derived table.
CREATE TABLE t(a INT);
INSERT INTO t VALUES (1), (-1);
SELECT a FROM t WHERE INTERVAL(a, 0, 10) = 0;
SELECT a FROM (SELECT DISTINCT a FROM t) AS d WHERE INTERVAL(a, 0, 10) = 0;
-- 10.11.19: -1, then no row; the second must be -1 too.
