-- title: EXPORT_SET of a LONGTEXT or JSON is cut where it passes a temporary table.
-- engine: mariadb
-- status: open
-- found: oracle consistency (materialised-derived-table against scan) on MariaDB 10.11.19
-- wrong: 10.1.23 to 11.8.9
-- right: none of those tried
-- newest: 11.8.9, wrong
-- cause: the length of the result is computed in 32 bits and overflows
-- cure: none of the flags of optimizer_switch, each turned over alone, nor any of 20 other settings
-- must-be: "Returns a string where each bit in the given bits argument is returned, with the string values given for on
--   and off." (MariaDB documentation, EXPORT_SET): 64 times xyz and 63 times abcd
-- upstream: searched, none found
-- expected: 444 ; 444
-- actual: 444 ; 188
CREATE TABLE t(a LONGTEXT);
INSERT INTO t VALUES ('a');
SELECT LENGTH(EXPORT_SET(0, a, 'xyz', 'abcd')) FROM t;
SELECT LENGTH(b) FROM (SELECT EXPORT_SET(0, a, 'xyz', 'abcd') AS b FROM t LIMIT 1) AS d;
