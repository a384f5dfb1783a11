-- title: CHR, and CHAR with USING, of a number of two characters are cut to one where they pass a temporary table.
-- engine: mariadb
-- status: open
-- found: oracle consistency (union and window against scan) on MariaDB 10.11.19
-- wrong: 10.11.5 to 11.8.9
-- right: 10.1.23, 10.2.11
-- newest: 11.8.9, wrong
-- cause: the declared length or type of the function is too small; it shows only where a temporary table stores the
--   value
-- cure: none of the flags of optimizer_switch, each turned over alone, nor any of 20 other settings
-- must-be: "the type and length of the columns in the result take into account the values returned by all of the
--   SELECTs" (MariaDB documentation, UNION)
-- upstream: searched, none found
-- expected: AB ; AB / 1
-- actual: AB ; A / 1
SELECT CHAR(16706 USING utf8mb4);
SELECT CHAR(16706 USING utf8mb4) UNION ALL SELECT 1;
