-- Found by the oracle consistency (intersect against scan) on MariaDB 10.11.19.
-- CONCAT of bytes and text has as many bytes as the text has characters, where it passes a temporary table.
CREATE TABLE t(a VARBINARY(2), b VARCHAR(2) CHARSET utf8mb4);
INSERT INTO t VALUES (x'FF00', _utf8mb4 x'F09F9880F09F9880');
SELECT HEX(CONCAT(a, b)) FROM t;
SELECT HEX(c) FROM (SELECT CONCAT(a, b) AS c FROM t LIMIT 1) AS d;
-- 10.11.19: FF00F09F9880F09F9880, then FF00F09F; it must be the first both times.
