-- Found by the oracle consistency (any context, scan too) on DuckDB 1.5.6.
-- An internal error: list_select of an empty constant list with constant indexes.
CREATE TABLE t(i BIGINT);
INSERT INTO t VALUES (1);
SELECT list_select([]::INT[], [i])::VARCHAR FROM t;
SELECT list_select([]::INT[], [1])::VARCHAR FROM t;
-- 1.5.6: '[NULL]', then the error; it must be '[NULL]' both times. (2.0.0: right; 1.1.0, 1.4.5: as 1.5.6)
