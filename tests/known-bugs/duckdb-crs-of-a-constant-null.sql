-- Found by the oracle consistency (scan against prepared) on DuckDB 1.5.6.
-- st_setcrs of a constant NULL has not the type with the CRS that st_setcrs of a column has, so that st_crs, which reads the type, differs.
CREATE TABLE t(g GEOMETRY);
INSERT INTO t VALUES (NULL);
SELECT typeof(st_setcrs(g, 'a')), st_crs(st_setcrs(g, 'a')) FROM t;
SELECT typeof(st_setcrs(NULL::GEOMETRY, 'a')), st_crs(st_setcrs(NULL::GEOMETRY, 'a')) FROM t;
-- 1.5.6: (GEOMETRY('a'), 'a'), then (GEOMETRY, NULL); it must be (GEOMETRY('a'), 'a') both times. (1.5.0, 2.0.0: the same; 1.4.5: no such type)
