-- title: A constant range without bounds "contains" NULL: the test is folded to TRUE without a look at the element.
-- engine: postgres
-- status: open
-- found: oracle consistency (folded-row against scan) on PostgreSQL 18.6
-- wrong: 17.0 to 18.6
-- right: 12.22 to 16.15
-- newest: 18.6, wrong (19rc1, wrong)
-- cause: the planner puts TRUE in the place of the operator when the range has no bounds
-- cure: none of 26 settings enable_*, jit, geqo and of 15 others, each changed alone; a range from a subquery with
--   OFFSET 0
-- must-be: "RETURNS NULL ON NULL INPUT or STRICT indicates that the function always returns null whenever any of its
--   arguments are null." (PostgreSQL 18 documentation, CREATE FUNCTION), and the functions of both operators are strict
--   in pg_proc
-- upstream: searched, none found
-- expected: NULL | NULL
-- actual: t | t
CREATE TABLE t(x BIGINT);
INSERT INTO t VALUES (NULL);
SELECT int8range(NULL, NULL) @> x, x <@ int8range(NULL, NULL) FROM t;
