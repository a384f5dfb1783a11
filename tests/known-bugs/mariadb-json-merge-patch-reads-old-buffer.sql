-- title: After a NULL argument JSON_MERGE_PATCH reads the buffer of the argument before: what it finds depends on the
--   row before.
-- engine: mariadb
-- status: open
-- found: oracle consistency (ordered-by-key and other-order against scan) on MariaDB 10.11.19
-- wrong: 10.11.5 to 11.8.9
-- right: none of those tried (10.1.23 and 10.2.11 have no JSON_MERGE_PATCH)
-- newest: 11.8.9, wrong
-- cause: the buffer of an argument before is parsed in the place of the argument
-- cure: none of the flags of optimizer_switch, each turned over alone, nor any of 20 other settings
-- must-be: "Merges the given JSON documents, returning the merged result, or NULL if any argument is NULL." (MariaDB
--   documentation, JSON_MERGE_PATCH)
-- upstream: searched, none found
-- note: rows 2 and 3 come with "Syntax error in JSON text in argument 1"; by the manual every value must be NULL, by
--   RFC 7396 -1; either way the rows must be alike
-- expected: 1 | -1 | -1 / 2 | -1 | -1 / 3 | -1 | -1
-- actual: 1 | -1 | -1 / 2 | NULL | -1 / 3 | NULL | -1
CREATE TABLE t(k INT);
INSERT INTO t VALUES (1), (2), (3);
SELECT k, JSON_MERGE_PATCH(NULL, k, -1), JSON_MERGE_PATCH(NULL, k, '-1') FROM t;
