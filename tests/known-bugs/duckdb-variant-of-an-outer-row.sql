-- title: A VARIANT made of the outer row in a correlated subquery has another value there.
-- engine: duckdb
-- status: fixed in 1.5.0
-- found: class scalar-subquery-against-one-row-join on DuckDB 1.4.5
-- wrong: 1.4.0 to 1.4.5
-- right: 1.5.0 to 2.0.0 (1.3.2 and before have no VARIANT)
-- newest: 2.0.0, right (2.0.1.dev2610211350, right)
-- cause: the comparison is rewritten to one without the VARIANT
-- cure: disabled_optimizers='expression_rewriter'
-- must-be: 0 < -1 is false; no page of the manual was read
-- upstream: searched, none found
-- expected: 0
-- actual: 1
CREATE TABLE t(a INT);
INSERT INTO t VALUES (1);
CREATE TABLE u(a INT);
INSERT INTO u VALUES (-1);
SELECT count(*) FROM u WHERE EXISTS (SELECT 1 FROM t WHERE 0 < (variant_extract({'b': u.a}::VARIANT, 'b')::INT));
