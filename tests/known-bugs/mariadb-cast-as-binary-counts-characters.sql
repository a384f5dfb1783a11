-- Found by the oracle consistency (union-all and window against scan) on MariaDB 10.11.19.
-- CAST AS BINARY(n) of a text keeps n characters, not n bytes, unless it passes a temporary table.
CREATE TABLE t(a VARCHAR(9) CHARSET utf8mb4);
INSERT INTO t VALUES (_utf8mb4 x'C3A9C3A9C3A9');
SELECT HEX(CAST(a AS BINARY(2))) FROM t;
SELECT HEX(b) FROM (SELECT CAST(a AS BINARY(2)) AS b FROM t LIMIT 1) AS d;
-- 10.11.19: C3A9C3A9, then C3A9; it must be C3A9 both times, no more than 2 bytes.
