-- Found by the oracle consistency (folded-row against scan) on PostgreSQL 18.6.
-- A constant range without bounds "contains" NULL: the test is folded to TRUE without a look at the element.
CREATE TABLE t(x BIGINT);
INSERT INTO t VALUES (NULL);
SELECT int8range(NULL, NULL) @> x, x <@ int8range(NULL, NULL) FROM t;
-- 17.6, 17.7, 18.4 and 18.6: (true, true); it must be (NULL, NULL), as where the range comes from a subquery with OFFSET 0.
