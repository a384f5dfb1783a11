-- title: A literal with an exponent, as text, is cut to as many characters as the literal has, where it passes a
--   temporary table.
-- engine: mariadb
-- status: open
-- found: oracle consistency (union, intersect and window against scan) on MariaDB 10.11.19
-- wrong: 10.11.5 to 11.8.9
-- right: 10.1.23, 10.2.11
-- newest: 11.8.9, wrong
-- cause: the declared length or type of the function is too small; it shows only where a temporary table stores the
--   value
-- cure: none of the flags of optimizer_switch, each turned over alone, nor any of 20 other settings
-- must-be: "the type and length of the columns in the result take into account the values returned by all of the
--   SELECTs" (MariaDB documentation, UNION)
-- upstream: searched, none found
-- expected: 0.0000000001 ; 0.0000000001 / 1
-- actual: 0.0000000001 ; 0.000 / 1
SELECT CONCAT(1e-10);
SELECT CONCAT(1e-10) UNION ALL SELECT 1;
