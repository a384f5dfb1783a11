-- title: An internal error: an element of a list that is a parameter, in a comparison that becomes a filter.
-- engine: duckdb
-- status: open
-- found: oracle consistency (the context prepared) on DuckDB 2.0.0
-- wrong: 1.1.0 to 2.0.0
-- right: none of those tried
-- newest: 2.0.0, wrong (2.0.1.dev2610211350, wrong)
-- cause: statistics of the element are asked of a parameter that has none
-- cure: disabled_optimizers='statistics_propagation'; disabled_optimizers='filter_pushdown'
-- crash: INTERNAL Error: ListStats::GetChildStats called on stats that is not a list
-- must-be: "This error signals an assertion failure within DuckDB." (the message that comes with it)
-- upstream: searched, none found
-- note: expected: the statement is prepared, and gives no rows
-- expected: -
-- actual: error
CREATE TABLE t(a INT);
PREPARE p AS SELECT 1 FROM t WHERE a = CAST($1 AS INT[])[1];
