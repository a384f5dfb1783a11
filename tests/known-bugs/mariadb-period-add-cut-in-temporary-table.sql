-- Found by the oracle consistency (intersect, window and materialised-derived-table against scan) on MariaDB 10.11.19.
-- PERIOD_ADD is clipped to an INT where it passes a temporary table.
SELECT PERIOD_ADD(200001, 300000000);
SELECT PERIOD_ADD(200001, 300000000) UNION ALL SELECT 1;
-- 10.11.19: 2500200001, then 2147483647 and 1; it must be 2500200001 both times.
