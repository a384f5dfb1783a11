-- Found by the oracle consistency (union and window against scan) on MariaDB 10.11.19.
-- CHR, and CHAR with USING, of a number of two characters are cut to one where they pass a temporary table.
SELECT CHAR(16706 USING utf8mb4);
SELECT CHAR(16706 USING utf8mb4) UNION ALL SELECT 1;
-- 10.11.19: AB, then A and 1; it must be AB both times.
