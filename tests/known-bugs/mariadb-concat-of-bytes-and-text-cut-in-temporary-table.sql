-- title: CONCAT of bytes and text has as many bytes as the text has characters, where it passes a temporary table.
-- engine: mariadb
-- status: open
-- found: oracle consistency (intersect against scan) on MariaDB 10.11.19
-- wrong: 10.1.23 to 11.8.9
-- right: none of those tried
-- newest: 11.8.9, wrong
-- cause: the declared length or type of the function is too small; it shows only where a temporary table stores the
--   value
-- cure: none of the flags of optimizer_switch, each turned over alone, nor any of 20 other settings
-- must-be: "If the arguments include any binary strings, the result is a binary string." and "Returns the string that
--   results from concatenating the arguments." (MariaDB documentation, CONCAT)
-- upstream: searched, none found
-- expected: FF00F09F9880F09F9880 ; FF00F09F9880F09F9880
-- actual: FF00F09F9880F09F9880 ; FF00F09F
CREATE TABLE t(a VARBINARY(2), b VARCHAR(2) CHARSET utf8mb4);
INSERT INTO t VALUES (x'FF00', _utf8mb4 x'F09F9880F09F9880');
SELECT HEX(CONCAT(a, b)) FROM t;
SELECT HEX(c) FROM (SELECT CONCAT(a, b) AS c FROM t LIMIT 1) AS d;
