-- Found by the class cte-inside-exists on DuckDB 1.4.5.
-- An internal error: Failed to bind column reference "c1" [8.0].
CREATE TABLE t(c0 BIGINT);
CREATE TABLE v(c0 BIGINT, c1 BIGINT);
SELECT 1 FROM t WHERE EXISTS (WITH s AS (SELECT (SELECT v.c1) AS w FROM v) SELECT 1 FROM s WHERE s.w = t.c0);
-- 1.4.5: an internal error, 2.0.0: the error "unordered_map::at"; it must be no row.
