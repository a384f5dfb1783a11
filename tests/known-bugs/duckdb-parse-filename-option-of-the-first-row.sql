-- Found by the oracle consistency (scan against ordered-by-key) on DuckDB 1.5.6.
-- parse_filename looks at the first row of a vector alone to see whether its option is NULL: another row's option decides.
CREATE TABLE t(b BOOLEAN);
INSERT INTO t VALUES (NULL), (TRUE);
SELECT b, parse_filename('a/b.c', b) FROM t;
SELECT b, parse_filename('a/b.c', b) FROM (SELECT b FROM t ORDER BY b NULLS LAST LIMIT 2);
-- 1.5.6: 'b.c' for both rows, then 'b' for true and NULL for NULL; it must be 'b' for true and 'b.c' for NULL both times. (2.0.0: right; 1.1.0, 1.4.5: as 1.5.6)
