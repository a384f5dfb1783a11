-- Found by the oracle consistency (scan against folded) on DuckDB 1.5.6.
-- substring with a window that begins before the text, of a column that statistics know to be ASCII: its length counts from the text's beginning.
CREATE TABLE t(s VARCHAR);
INSERT INTO t VALUES ('ab');
SELECT substring(s, -3, 2), substring(s || '', -3, 2), substring('ab', -3, 2) FROM t;
-- 1.5.6: ('ab', 'a', 'a'); it must be ('a', 'a', 'a'). (2.0.0: right; 1.1.0, 1.4.5: as 1.5.6; duckdb/duckdb#24766)
