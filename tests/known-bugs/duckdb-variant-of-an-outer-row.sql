-- Found by the class scalar-subquery-against-one-row-join on DuckDB 1.4.5.
-- A VARIANT made of the outer row in a correlated subquery has another value there.
CREATE TABLE t(a INT);
INSERT INTO t VALUES (1);
CREATE TABLE u(a INT);
INSERT INTO u VALUES (-1);
SELECT count(*) FROM u WHERE EXISTS (SELECT 1 FROM t WHERE 0 < (variant_extract({'b': u.a}::VARIANT, 'b')::INT));
-- 1.4.5: 1; it must be 0, as on 2.0.0.
