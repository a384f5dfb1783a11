-- title: substr with a start behind the end and a negative length, of a column that statistics know to be ASCII.
-- engine: duckdb
-- status: fixed in 2.0.0
-- found: classes tlp-distinct-placeholder and greatest-key-per-group on DuckDB 1.4.5
-- wrong: 1.1.0 to 1.5.6
-- right: 2.0.0
-- newest: 2.0.0, right (2.0.1.dev2610211350, right)
-- cause: the fast path for ASCII clamps the start before it goes back by the length
-- cure: disabled_optimizers='statistics_propagation'
-- must-be: nothing is said of a negative length; one call has one value, and s || '' gives the empty text
-- upstream: searched, none found for a negative length; kin: duckdb/duckdb#24766 (closed), whose mending shares the
--   computation of both paths
-- expected: '' | ''
-- actual: 1 | ''
CREATE TABLE t(s VARCHAR);
INSERT INTO t VALUES ('1');
SELECT substr(s, 4, -2), substr(s || '', 4, -2) FROM t;
