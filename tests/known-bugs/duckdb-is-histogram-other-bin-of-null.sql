-- Found by the oracle consistency (scan against folded-row) on DuckDB 1.5.6.
-- An internal error: is_histogram_other_bin of a NULL in a constant vector.
CREATE TABLE t(a INT);
INSERT INTO t VALUES (NULL);
SELECT is_histogram_other_bin(a), is_histogram_other_bin(NULL::INT) FROM t;
SELECT is_histogram_other_bin(a) FROM (SELECT NULL::INT AS a);
-- 1.5.6: (NULL, NULL), then the error (since 1.5.2); it must be NULL. (2.0.0: right; 1.1.0 to 1.5.1: false for the NULL of a row, NULL for the constant)
