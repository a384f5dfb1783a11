-- title: st_setcrs of a constant NULL has not the type with the CRS that st_setcrs of a column has, so that st_crs,
--   which reads the type, differs.
-- engine: duckdb
-- status: doubtful
-- found: oracle consistency (scan against prepared) on DuckDB 1.5.6
-- wrong: 1.5.0 to 2.0.0
-- right: none of those tried (1.4.5 and before have no GEOMETRY without an extension)
-- newest: 2.0.0, wrong (2.0.1.dev2610211350, wrong)
-- cause: the call is folded to a NULL without its type
-- cure: no optimizer of duckdb_optimizers(), each disabled alone, nor PRAGMA disable_optimizer
-- must-be: "Returns the Coordinate Reference System (CRS) identifier of the geometry" (DuckDB, description in
--   duckdb_functions() of 2.0.0); nothing is said of a NULL
-- upstream: searched, none found
-- note: doubtful: it may be meant, nothing is promised for the type of a NULL; but one call has two types, and a value
--   follows from them
-- expected: GEOMETRY('a') | a ; GEOMETRY('a') | a
-- actual: GEOMETRY('a') | a ; GEOMETRY | NULL
CREATE TABLE t(g GEOMETRY);
INSERT INTO t VALUES (NULL);
SELECT typeof(st_setcrs(g, 'a')), st_crs(st_setcrs(g, 'a')) FROM t;
SELECT typeof(st_setcrs(NULL::GEOMETRY, 'a')), st_crs(st_setcrs(NULL::GEOMETRY, 'a')) FROM t;
