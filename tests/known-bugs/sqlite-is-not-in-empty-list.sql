-- Found by class intersect-is-null-safe-semi-join on SQLite 3.39.0 to 3.54.1 (and by hand wherever IS takes any operand).
-- The first two columns must be equal: IS is symmetric, and (5 NOT IN ()) is 1. The engine folds it to the literal TRUE
-- before it reads `3 IS TRUE`, which asks for the truth of 3.
SELECT 3 IS (5 NOT IN ()), (5 NOT IN ()) IS 3, 3 IS 1;
-- 3.54.1: 1 | 0 | 0
