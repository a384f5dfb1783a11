-- title: A CASE over IS NULL of a column that is NOT NULL is taken for a constant, also for a row that the join pads.
-- engine: mysql
-- status: open
-- found: class is-null-filter-on-padded-side-splits on MySQL 8.0.31
-- wrong: 8.0.31 to 9.7.4
-- right: none of those tried
-- newest: 9.7.4, wrong
-- cause: when the derived table is merged, IS NULL of a NOT NULL column folds to 0, and the CASE with it
-- cure: optimizer_switch='derived_merge=off'
-- must-be: "When selecting expressions from the inner tables of an outer join, we should return only NULL values when a
--   row from the outer tables ... does not match a row from the inner tables" (bugs.mysql.com #76327)
-- upstream: searched, none found for this one; kin: bugs.mysql.com #76327 (closed), #105899 (verified)
-- expected: 1
-- actual: -
CREATE TABLE t(a INT);
INSERT INTO t VALUES (1);
CREATE TABLE u(a INT, id INT NOT NULL);
SELECT t.a FROM t LEFT JOIN (SELECT a, CASE WHEN id IS NULL THEN 1 ELSE 0 END AS w FROM u) AS s ON t.a = s.a WHERE s.w IS NULL;
