-- Found by the class tlp-distinct on MariaDB 10.11.19.
-- ORD of a character of four bytes is cut where it passes a temporary table.
SET NAMES utf8mb4;
CREATE TABLE t(s VARCHAR(9) CHARSET utf8mb4);
INSERT INTO t VALUES (_utf8mb4 x'F09F9880');
SELECT ORD(s) FROM t;
SELECT ORD(s) FROM t UNION ALL SELECT 1;
-- 10.11.19: 4036991104, then 2147483647 and 1; it must be 4036991104 both times.
