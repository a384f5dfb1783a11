-- Found by the oracle consistency (scan against materialised-derived-table) on DuckDB 1.5.6.
-- enum_range_boundary computes the range of the first row of a vector, and gives it to every row.
CREATE TYPE e AS ENUM ('a', 'b');
CREATE TABLE t(k INT, x e);
INSERT INTO t VALUES (1, 'a'), (2, 'b');
SELECT k, enum_range_boundary(x, NULL) FROM t;
SELECT k, enum_range_boundary(x, NULL) FROM t WHERE k = 2;
-- 1.5.6: ['a', 'b'] for both rows, then ['b'] for k = 2; it must be ['b'] for k = 2 both times. (2.0.0: right; 1.4.5: as 1.5.6)
