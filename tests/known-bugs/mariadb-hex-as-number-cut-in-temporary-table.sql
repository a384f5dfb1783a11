-- title: HEX as a number of more than 17 digits is cut where a temporary table is DOUBLE(17, 0).
-- engine: mariadb
-- status: open
-- found: oracle consistency (union-all against scan) on MariaDB 10.11.19
-- wrong: 10.1.23 to 11.8.9
-- right: none of those tried
-- newest: 11.8.9, wrong
-- cause: the declared length or type of the function is too small; it shows only where a temporary table stores the
--   value
-- cure: none of the flags of optimizer_switch, each turned over alone, nor any of 20 other settings
-- must-be: "the type and length of the columns in the result take into account the values returned by all of the
--   SELECTs" (MariaDB documentation, UNION)
-- upstream: searched, none found
-- expected: 31323334353637384000 ; 31323334353637384000 / 1
-- actual: 31323334353637384000 ; 100000000000000000 / 1
SELECT HEX('1234567890') + 0;
SELECT HEX('1234567890') + 0 UNION ALL SELECT 1;
