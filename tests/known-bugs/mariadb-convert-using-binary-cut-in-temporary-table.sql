-- title: CONVERT USING binary has as many bytes as the text has characters, where it passes a temporary table.
-- engine: mariadb
-- status: open
-- found: by hand, on MariaDB 10.11.19
-- wrong: 10.1.23 to 11.8.9
-- right: none of those tried
-- newest: 11.8.9, wrong
-- cause: the declared length or type of the function is too small; it shows only where a temporary table stores the
--   value
-- cure: none of the flags of optimizer_switch, each turned over alone, nor any of 20 other settings
-- must-be: "CONVERT() with USING is used to convert data between different character sets." (MariaDB documentation,
--   CONVERT); nothing there shortens it
-- upstream: searched, none found
-- expected: F09F9880F09F9880 ; F09F9880F09F9880
-- actual: F09F9880F09F9880 ; F09F
CREATE TABLE t(a VARCHAR(2) CHARSET utf8mb4);
INSERT INTO t VALUES (_utf8mb4 x'F09F9880F09F9880');
SELECT HEX(CONVERT(a USING binary)) FROM t;
SELECT HEX(c) FROM (SELECT CONVERT(a USING binary) AS c FROM t LIMIT 1) AS d;
