-- Found by the oracle consistency (union, intersect and window against scan) on MariaDB 10.11.19.
-- AES_ENCRYPT of a LONGTEXT or JSON is empty where it passes a temporary table: its length overflows to 0.
CREATE TABLE t(a LONGTEXT);
INSERT INTO t VALUES ('a');
SELECT HEX(AES_ENCRYPT(a, 'k')) FROM t;
SELECT HEX(b) FROM (SELECT AES_ENCRYPT(a, 'k') AS b FROM t LIMIT 1) AS d;
-- 10.11.19: 16 bytes, then ''; it must be the 16 bytes both times.
