-- Found by the oracle consistency (intersect, and materialised-derived-table, against scan) on MariaDB 10.11.19.
-- FLOOR, CEILING, ROUND and TRUNCATE of a DOUBLE of more than 17 digits are cut where a temporary table is DOUBLE(17, 0).
CREATE TABLE t(a DOUBLE);
INSERT INTO t VALUES (1e18);
SELECT FLOOR(a) FROM t;
SELECT DISTINCT FLOOR(a) FROM t;
-- 10.11.19: 1000000000000000000, then 100000000000000000; it must be the first both times.
