-- Found by the oracle consistency (intersect against scan) on MariaDB 10.11.19.
-- JSON_ARRAY and JSON_OBJECT of characters that are escaped are cut where they pass a temporary table.
SELECT JSON_ARRAY(_utf8mb4 x'010101010101');
SELECT JSON_ARRAY(_utf8mb4 x'010101010101') UNION ALL SELECT 1;
-- 10.11.19: ["\u0001\u0001\u0001\u0001\u0001\u0001"], then ["\u0001\u0001\u00 and 1; it must be the first both times.
