-- Found by the oracle consistency (scan against prepared) on DuckDB 1.5.6.
-- A call of || with a constant NULL becomes an untyped NULL, which a cast to a UNION makes NULL instead of a union that holds NULL.
CREATE TABLE t(i INT);
INSERT INTO t VALUES (NULL);
SELECT typeof('a' || i), ('a' || i)::UNION(n VARCHAR) IS NULL FROM t;
SELECT typeof('a' || NULL::INT), ('a' || NULL::INT)::UNION(n VARCHAR) IS NULL FROM t;
-- 1.5.6: (VARCHAR, false), then ("NULL", true); it must be (VARCHAR, false) both times. (2.0.0: right; 1.1.0, 1.4.5: as 1.5.6)
