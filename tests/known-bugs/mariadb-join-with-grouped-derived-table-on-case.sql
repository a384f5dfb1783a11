-- Found by the class scalar-count-and-sum-subquery on MariaDB 10.11.19.
-- A join finds nothing in a grouped derived table where the join with the table itself finds a row.
CREATE TABLE t1(c0 INT, c1 VARCHAR(10));
INSERT INTO t1 VALUES (2, 'A');
CREATE TABLE t2(c0 INT UNIQUE, c1 INT);
INSERT INTO t2 VALUES (0, -1), (2, 3);
SELECT t1.c0, t2.c0 FROM t1 JOIN t2 ON t2.c0 = CASE t1.c1 WHEN 'h' THEN 1 WHEN 'A' THEN 2 WHEN '' THEN 3 END;
SELECT t1.c0, s.c0 FROM t1 JOIN (SELECT c0, COUNT(*) AS m FROM t2 GROUP BY c0) AS s
  ON s.c0 = CASE t1.c1 WHEN 'h' THEN 1 WHEN 'A' THEN 2 WHEN '' THEN 3 END;
-- 10.11.19: (2, 2), then no row; the second must be (2, 2) too.
