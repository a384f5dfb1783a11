-- Found on MariaDB 10.11.19.
-- CONVERT USING binary has as many bytes as the text has characters, where it passes a temporary table.
CREATE TABLE t(a VARCHAR(2) CHARSET utf8mb4);
INSERT INTO t VALUES (_utf8mb4 x'F09F9880F09F9880');
SELECT HEX(CONVERT(a USING binary)) FROM t;
SELECT HEX(c) FROM (SELECT CONVERT(a USING binary) AS c FROM t LIMIT 1) AS d;
-- 10.11.19: F09F9880F09F9880, then F09F; it must be the first both times.
