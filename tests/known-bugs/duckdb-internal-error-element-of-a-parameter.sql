-- Found by the oracle consistency (the context prepared) on DuckDB 2.0.0.
-- An internal error: an element of a list that is a parameter, in a comparison that becomes a filter.
CREATE TABLE t(a INT);
PREPARE p AS SELECT 1 FROM t WHERE a = CAST($1 AS INT[])[1];
-- 1.1.0 to 2.0.0: "ListStats::GetChildStats called on stats that is not a list"; it must be prepared, and give no rows.
