-- title: FLOOR, CEILING, ROUND and TRUNCATE of a DOUBLE of more than 17 digits are cut where a temporary table is
--   DOUBLE(17, 0).
-- engine: mariadb
-- status: open
-- found: oracle consistency (intersect, and materialised-derived-table, against scan) on MariaDB 10.11.19
-- wrong: 10.11.5 to 11.8.9
-- right: 10.1.23, 10.2.11
-- newest: 11.8.9, wrong
-- cause: the declared length or type of the function is too small; it shows only where a temporary table stores the
--   value
-- cure: none of the flags of optimizer_switch, each turned over alone, nor any of 20 other settings
-- must-be: "Returns the largest integer value not greater than X." (MariaDB documentation, FLOOR)
-- upstream: searched, none found
-- expected: 1000000000000000000 ; 1000000000000000000
-- actual: 1000000000000000000 ; 100000000000000000
CREATE TABLE t(a DOUBLE);
INSERT INTO t VALUES (1e18);
SELECT FLOOR(a) FROM t;
SELECT DISTINCT FLOOR(a) FROM t;
