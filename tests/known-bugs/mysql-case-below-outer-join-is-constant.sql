-- Found by the class is-null-filter-on-padded-side-splits on MySQL 8.0.31.
-- A CASE over IS NULL of a column that is NOT NULL is taken for a constant, also for a row that the join pads.
CREATE TABLE t(a INT);
INSERT INTO t VALUES (1);
CREATE TABLE u(a INT, id INT NOT NULL);
SELECT t.a FROM t LEFT JOIN (SELECT a, CASE WHEN id IS NULL THEN 1 ELSE 0 END AS w FROM u) AS s ON t.a = s.a WHERE s.w IS NULL;
-- 8.0.31: no row; it must be 1, as with derived_merge=off.
