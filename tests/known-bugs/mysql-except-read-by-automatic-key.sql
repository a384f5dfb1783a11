-- Found by the class not-in-over-not-null-columns on MySQL 8.0.31.
-- EXCEPT and INTERSECT in a derived table that is read by an automatic key give rows that they remove.
CREATE TABLE t(a INT);
INSERT INTO t VALUES (1);
SELECT * FROM (SELECT a FROM t EXCEPT SELECT a FROM t) AS s;
SELECT t.a FROM t JOIN (SELECT a FROM t EXCEPT SELECT a FROM t) AS s ON s.a = t.a;
-- 8.0.31: no row, then 1; it must be no row both times.
