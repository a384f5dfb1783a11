-- Found by the classes case-as-filter and null-safe-equality-join on DuckDB 1.4.5.
-- A comparison of TRY_CAST with a constant is made without the cast, so that a failed one is not NULL.
CREATE TABLE t(a BIGINT);
INSERT INTO t VALUES (2147483647);
SELECT TRY_CAST(a AS SMALLINT), TRY_CAST(a AS SMALLINT) > 0 FROM t;
-- 1.1.3 to 1.5.6: (NULL, true); it must be (NULL, NULL), as on 2.0.0.
