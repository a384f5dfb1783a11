-- Found by the oracle consistency (scan against grouped-by-value) on SQLite 3.39.2; also in 3.28.0, 3.46.0 and 3.53.2. Right in 3.54.1.
-- IN converts what it compares, a text to a number or a REAL to an integer, and below GROUP BY what comes after reads that.
CREATE TABLE t(a TEXT, r REAL);
INSERT INTO t VALUES ('-1', 0.0);
SELECT typeof(CASE WHEN a IN (SELECT r FROM t) THEN 0 ELSE a END) FROM t;
SELECT typeof(CASE WHEN a IN (SELECT r FROM t) THEN 0 ELSE a END) FROM t GROUP BY a;
SELECT CASE WHEN r IN (SELECT a FROM t) THEN 1 ELSE r || '' END FROM t;
SELECT CASE WHEN r IN (SELECT a FROM t) THEN 1 ELSE r || '' END FROM t GROUP BY r;
-- 3.53.2: 'text', then 'integer'; it must be 'text' both times. Then '0.0' and '0'; it must be '0.0' both times.
