-- title: EXCEPT and INTERSECT in a derived table that is read by an automatic key give rows that they remove.
-- engine: mysql
-- status: fixed in 9.7.4
-- found: class not-in-over-not-null-columns on MySQL 8.0.31
-- wrong: 8.0.31
-- right: 9.7.4
-- newest: 9.7.4, right
-- cause: the counter of the row, by which a removed row is known, is not looked at when the key is read
-- cure: none of the flags of optimizer_switch, each turned over alone
-- must-be: t EXCEPT t is empty; no page of the manual was read
-- upstream: searched, none found
-- note: 8.0.31 is the first release with EXCEPT; none between 8.0.31 and 9.7.4 was tried
-- expected: - ; -
-- actual: - ; 1
CREATE TABLE t(a INT);
INSERT INTO t VALUES (1);
SELECT * FROM (SELECT a FROM t EXCEPT SELECT a FROM t) AS s;
SELECT t.a FROM t JOIN (SELECT a FROM t EXCEPT SELECT a FROM t) AS s ON s.a = t.a;
