-- title: A comparison of rows that is NULL is not NULL to IS NULL, neither in the select list nor in WHERE.
-- engine: mariadb
-- status: open
-- found: classes eet-inner-join-on, tlp-count and candidate-a06 on MariaDB 10.11.19
-- wrong: 10.1.23 to 11.8.9
-- right: none of those tried
-- newest: 11.8.9, wrong
-- cause: the comparison is taken to be NOT NULL, so IS NULL folds to 0
-- cure: none of the flags of optimizer_switch, each turned over alone, nor any of 20 other settings
-- must-be: "When used in row comparisons these two queries are synonymous": (t1.a, t1.b) = (t2.x, t2.y) and (t1.a =
--   t2.x) AND (t1.b = t2.y) (MariaDB documentation, =)
-- upstream: searched, none found
-- note: with < in the place of = the same
-- expected: NULL | 1 ; 1
-- actual: NULL | 0 ; 0
CREATE TABLE t(a INT, b INT);
INSERT INTO t VALUES (1, NULL);
SELECT (a, b) = (b, a), ((a, b) = (b, a)) IS NULL FROM t;
SELECT COUNT(*) FROM t WHERE ((a, b) = (b, a)) IS NULL;
