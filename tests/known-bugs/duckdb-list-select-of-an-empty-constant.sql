-- title: An internal error: list_select of an empty constant list with constant indexes.
-- engine: duckdb
-- status: fixed in 2.0.0
-- found: oracle consistency (any context, scan too) on DuckDB 1.5.6
-- wrong: 1.1.0 to 1.5.6
-- right: 2.0.0
-- newest: 2.0.0, right (2.0.1.dev2610211350, right)
-- cause: the child of a constant list is not flat
-- cure: none; with disabled_optimizers='expression_rewriter' the first query fails too
-- crash: INTERNAL Error: Operation requires a flat vector but a non-flat vector was encountered
-- must-be: "This error signals an assertion failure within DuckDB." (the message that comes with it); "Returns a list
--   based on the elements selected by the `index_list`." (DuckDB, description in duckdb_functions() of 2.0.0)
-- upstream: searched, none found for list_select; kin: duckdb/duckdb#13045 (list_dot_product of empty lists, open)
-- expected: [NULL] ; [NULL]
-- actual: [NULL] ; error
CREATE TABLE t(i BIGINT);
INSERT INTO t VALUES (1);
SELECT list_select([]::INT[], [i])::VARCHAR FROM t;
SELECT list_select([]::INT[], [1])::VARCHAR FROM t;
