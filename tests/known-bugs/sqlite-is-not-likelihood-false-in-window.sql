-- Found by class having-is-filter-on-derived-table on SQLite 3.54.1.
-- One expression, three contexts, one value expected: a blob is not the number 0, so it is 1. Inside a window function
-- likelihood() is taken away first, and what is left is read as `x'00' IS NOT FALSE`, which asks for the truth of x'00'.
SELECT x'00' IS NOT likelihood(FALSE, 0.5);
SELECT MAX(x'00' IS NOT likelihood(FALSE, 0.5)) FROM (SELECT 1);
SELECT MAX(x'00' IS NOT likelihood(FALSE, 0.5)) OVER () FROM (SELECT 1);
-- 3.54.1: 1, 1, then 0
