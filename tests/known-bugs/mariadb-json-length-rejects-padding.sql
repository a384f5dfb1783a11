-- title: A condition on JSON_LENGTH(JSON_ARRAY(c)) makes an outer join an inner one, but is not NULL where c is.
-- engine: mariadb
-- status: open
-- found: class is-null-filter-on-padded-side-splits on MariaDB 10.11.19
-- wrong: 10.2.11 to 11.8.9
-- right: none of those tried (10.1.23 has no JSON_LENGTH)
-- newest: 11.8.9, wrong
-- cause: the function is taken to be NULL wherever a column in it is
-- cure: none of the flags of optimizer_switch, each turned over alone, nor any of 20 other settings
-- must-be: "If an array, the number of elements in the array." (MariaDB documentation, JSON_LENGTH): 1 for [null]
-- upstream: searched, none found
-- expected: 1 | NULL
-- actual: -
CREATE TABLE t(a INT);
CREATE TABLE u(a INT);
INSERT INTO t VALUES (1);
SELECT t.a, u.a FROM t LEFT JOIN u ON t.a = u.a WHERE JSON_LENGTH(JSON_ARRAY(u.a)) = 1;
