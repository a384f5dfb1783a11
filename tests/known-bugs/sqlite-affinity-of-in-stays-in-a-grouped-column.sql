-- Found by the oracle consistency (scan against grouped-by-value) on SQLite 3.39.2; also in 3.28.0, 3.40.1 and 3.53.2. Right in 3.54.1.
-- IN with a REAL column makes a number of the text that it compares, and below GROUP BY what comes after reads that number.
CREATE TABLE t(a TEXT, r REAL);
INSERT INTO t VALUES ('-1', NULL);
SELECT typeof(CASE WHEN a IN (SELECT r FROM t) THEN 0 ELSE a END) FROM t;
SELECT typeof(CASE WHEN a IN (SELECT r FROM t) THEN 0 ELSE a END) FROM t GROUP BY a;
-- 3.53.2: 'text', then 'integer'; it must be 'text' both times.
