-- Found by the classes candidate-a29 and not-in-three-valued on DataFusion 55.0.0.
-- IN of a subquery with a NULL is false where it is NULL.
CREATE TABLE t(a BIGINT);
INSERT INTO t VALUES (1);
CREATE TABLE u(n BIGINT);
INSERT INTO u VALUES (NULL);
SELECT a FROM t WHERE (a IN (SELECT n FROM u)) IS FALSE;
SELECT a FROM t WHERE (a IN (SELECT n FROM u)) IS NULL;
-- 55.0.0: 1, then no row; it must be no row, then 1.
