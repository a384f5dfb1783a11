-- title: JSON_ARRAY and JSON_OBJECT of characters that are escaped are cut where they pass a temporary table.
-- engine: mariadb
-- status: open
-- found: oracle consistency (intersect against scan) on MariaDB 10.11.19
-- wrong: 10.2.11 to 11.8.9
-- right: none of those tried (10.1.23 has no JSON_ARRAY)
-- newest: 11.8.9, wrong
-- cause: the declared length or type of the function is too small; it shows only where a temporary table stores the
--   value
-- cure: none of the flags of optimizer_switch, each turned over alone, nor any of 20 other settings
-- must-be: "the type and length of the columns in the result take into account the values returned by all of the
--   SELECTs" (MariaDB documentation, UNION)
-- upstream: searched, none found
-- note: 10.2.11 and 10.11.5 cut at another character
-- expected: ["\u0001\u0001\u0001\u0001\u0001\u0001"] ; ["\u0001\u0001\u0001\u0001\u0001\u0001"] / 1
-- actual: ["\u0001\u0001\u0001\u0001\u0001\u0001"] ; ["\u0001\u0001\u00 / 1
SELECT JSON_ARRAY(_utf8mb4 x'010101010101');
SELECT JSON_ARRAY(_utf8mb4 x'010101010101') UNION ALL SELECT 1;
