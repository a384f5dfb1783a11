-- Found by the oracle consistency (materialised-derived-table against scan) on MariaDB 10.11.19.
-- EXPORT_SET of a LONGTEXT or JSON is cut where it passes a temporary table: its length overflows.
CREATE TABLE t(a LONGTEXT);
INSERT INTO t VALUES ('a');
SELECT LENGTH(EXPORT_SET(0, a, 'xyz', 'abcd')) FROM t;
SELECT LENGTH(b) FROM (SELECT EXPORT_SET(0, a, 'xyz', 'abcd') AS b FROM t LIMIT 1) AS d;
-- 10.11.19: 444, then 188; it must be 444 both times.
