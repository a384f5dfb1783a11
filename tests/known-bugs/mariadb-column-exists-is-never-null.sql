-- Found by the oracle consistency (union-all against scan) on MariaDB 10.11.19.
-- COLUMN_EXISTS of a number that no column has is NULL, but taken to be NOT NULL.
SELECT COLUMN_EXISTS('', 65536), COLUMN_EXISTS('', 65536) IS NULL;
SELECT COLUMN_EXISTS('', 65536) UNION ALL SELECT 1;
-- 10.11.19: (NULL, 0), then 0 and 1; it must be (0, 0), then 0 and 1, as the documentation has it, or (NULL, 1), then NULL and 1.
