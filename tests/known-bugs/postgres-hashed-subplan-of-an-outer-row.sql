-- title: IN over a subquery that depends on a row two levels up: its answers are hashed once, for the first row, and
--   looked up for all.
-- engine: postgres
-- status: open
-- found: oracle consistency (scan against scalar-subquery) on PostgreSQL 17.6
-- wrong: 12.22 to 18.6
-- right: none of those tried
-- newest: 18.6, wrong (19rc1, wrong)
-- cause: the outer row is read in an InitPlan of the hashed SubPlan, and the SubPlan itself is taken to depend on
--   nothing
-- cure: none of 26 settings enable_*, jit, geqo and of 15 others, each changed alone; OFFSET 0 does not help, neither
--   within IN nor around it
-- must-be: "The left-hand expression is evaluated and compared to each row of the subquery result." (PostgreSQL 18
--   documentation, 9.24.2 IN)
-- upstream: searched, none found
-- note: the branch WHERE FALSE must be there, an outer join need not
-- expected: 1 | f / 2 | t ; 1 | f / 2 | t
-- actual: 1 | f / 2 | t ; 1 | f / 2 | f
CREATE TABLE t(a INT);
CREATE TABLE s(b INT);
INSERT INTO t VALUES (1), (2);
SELECT a, 2 IN (SELECT b FROM s WHERE FALSE UNION ALL SELECT (SELECT t.a)) FROM t;
SELECT a, (SELECT 2 IN (SELECT b FROM s WHERE FALSE UNION ALL SELECT (SELECT t.a))) FROM t;
