-- title: The server ends with signal 11 on NOT EXISTS with an equality to a correlated scalar subquery.
-- engine: mariadb
-- status: open
-- found: class exists-conjunction-is-not-one-witness on MariaDB 10.11.19
-- wrong: 10.1.23 to 11.8.9
-- right: none of those tried
-- newest: 11.8.9, wrong
-- cause: EXISTS is made IN; the correlated scalar subquery then runs a join buffer that is gone
-- cure: optimizer_switch='exists_to_in=off'; join_cache_level=0
-- crash: got signal 11; sub_select_cache(JOIN*, st_join_table*, bool) < sub_select < Item_subselect::exec() <
--   Item_singlerow_subselect::val_int() (11.8.9)
-- must-be: no statement may end the server; u is empty, and "subqueries using NOT EXISTS will return true only if the
--   subquery returns no rows from the table" (MariaDB documentation, Subqueries and EXISTS)
-- upstream: searched, none found for this one; kin: MDEV-32290, "Server crashes in sub_select_cache" (pull request
--   MariaDB/server#4972, open)
-- expected: 2 / 1
-- actual: crash
CREATE TABLE t(a INT);
CREATE TABLE u(a INT);
INSERT INTO t VALUES (2), (1);
SELECT a FROM t WHERE NOT EXISTS (SELECT 1 FROM u WHERE u.a = (SELECT COUNT(*) FROM t AS x JOIN t AS y WHERE x.a = t.a) AND FALSE);
