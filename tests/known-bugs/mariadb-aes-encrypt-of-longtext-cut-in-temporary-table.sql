-- title: AES_ENCRYPT of a LONGTEXT or JSON is empty where it passes a temporary table.
-- engine: mariadb
-- status: open
-- found: oracle consistency (union, intersect and window against scan) on MariaDB 10.11.19
-- wrong: 10.1.23 to 11.8.9
-- right: none of those tried
-- newest: 11.8.9, wrong
-- cause: the length of the result is computed in 32 bits and overflows to 0
-- cure: none of the flags of optimizer_switch, each turned over alone, nor any of 20 other settings
-- must-be: "AES_ENCRYPT() encrypts a string str using the key key_str, and returns a binary string." and "The input
--   arguments may be any length." (MariaDB documentation, AES_ENCRYPT)
-- upstream: searched, none found
-- expected: 53E61674DBCC997DD27BD802A2EB9F22 ; 53E61674DBCC997DD27BD802A2EB9F22
-- actual: 53E61674DBCC997DD27BD802A2EB9F22 ; ''
CREATE TABLE t(a LONGTEXT);
INSERT INTO t VALUES ('a');
SELECT HEX(AES_ENCRYPT(a, 'k')) FROM t;
SELECT HEX(b) FROM (SELECT AES_ENCRYPT(a, 'k') AS b FROM t LIMIT 1) AS d;
