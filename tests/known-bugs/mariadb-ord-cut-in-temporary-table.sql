-- title: ORD of a character of four bytes is cut where it passes a temporary table.
-- engine: mariadb
-- status: open
-- found: class tlp-distinct on MariaDB 10.11.19
-- wrong: 10.11.5 to 11.8.9
-- right: 10.1.23, 10.2.11
-- newest: 11.8.9, wrong
-- cause: the declared type is INT, the code of four bytes does not fit it
-- cure: none of the flags of optimizer_switch, each turned over alone, nor any of 20 other settings
-- must-be: "If the leftmost character of the string str is a multi-byte character, returns the code for that character"
--   (MariaDB documentation, ORD)
-- upstream: searched, none found
-- expected: 4036991104 ; 4036991104 / 1
-- actual: 4036991104 ; 2147483647 / 1
SET NAMES utf8mb4;
CREATE TABLE t(s VARCHAR(9) CHARSET utf8mb4);
INSERT INTO t VALUES (_utf8mb4 x'F09F9880');
SELECT ORD(s) FROM t;
SELECT ORD(s) FROM t UNION ALL SELECT 1;
