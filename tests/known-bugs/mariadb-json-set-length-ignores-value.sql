-- Found by the oracle consistency (materialised-derived-table against scan) on MariaDB 10.11.19.
-- JSON_SET, JSON_INSERT and JSON_REPLACE are cut where they pass a temporary table: their length does not count the value.
SELECT JSON_SET('{}', '$.a', 'abcdefghijkl');
SELECT JSON_SET('{}', '$.a', 'abcdefghijkl') UNION ALL SELECT 1;
-- 10.11.19: {"a": "abcdefghijkl"}, then {"a": "abcdefghij and 1; it must be {"a": "abcdefghijkl"} both times.
