-- title: JSON_SET, JSON_INSERT and JSON_REPLACE are cut where they pass a temporary table.
-- engine: mariadb
-- status: open
-- found: oracle consistency (materialised-derived-table against scan) on MariaDB 10.11.19
-- wrong: 10.2.11 to 11.8.9
-- right: none of those tried (10.1.23 has no JSON_SET)
-- newest: 11.8.9, wrong
-- cause: the length of the result counts the path again, not the value
-- cure: none of the flags of optimizer_switch, each turned over alone, nor any of 20 other settings
-- must-be: "the type and length of the columns in the result take into account the values returned by all of the
--   SELECTs" (MariaDB documentation, UNION)
-- upstream: named in the thread of MDEV-29264 (pull request MariaDB/server#2226): "args[n_arg/2+1]->max_char_length()
--   must be args[n_arg+1]->max_char_length()" in Item_func_json_insert; no issue of its own found
-- note: 10.2.11 and 10.11.5 cut at another character
-- expected: {"a": "abcdefghijkl"} ; {"a": "abcdefghijkl"} / 1
-- actual: {"a": "abcdefghijkl"} ; {"a": "abcdefghij / 1
SELECT JSON_SET('{}', '$.a', 'abcdefghijkl');
SELECT JSON_SET('{}', '$.a', 'abcdefghijkl') UNION ALL SELECT 1;
