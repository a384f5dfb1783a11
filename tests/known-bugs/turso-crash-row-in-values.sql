-- Found by the class candidate-a06 on Turso 0.8.3.
-- The engine aborts on a row value IN a list of VALUES that uses the outer row.
CREATE TABLE t(a INTEGER, b TEXT);
SELECT (t.b, NULL) IN (VALUES (t.b, t.b), (1.5, t.a)) FROM t;
-- 0.8.3: the process ends; it must be NULL for each row.
