-- title: A view keeps TRUE and FALSE as 1 and 0, which are other values in JSON.
-- engine: mariadb
-- status: open
-- found: oracle consistency (view against scan) on MariaDB 10.11.19
-- wrong: 10.2.11 to 11.8.9
-- right: none of those tried (10.1.23 has no JSON_ARRAY)
-- newest: 11.8.9, wrong
-- cause: TRUE and FALSE are printed as 1 and 0 in the definition of the view
-- cure: none of the flags of optimizer_switch, each turned over alone, nor any of 20 other settings
-- must-be: "Returns a JSON array containing the listed values." (MariaDB documentation, JSON_ARRAY): [true] without the
--   view
-- upstream: MDEV-28649 (pull request MariaDB/server#3700, open)
-- expected: [true] | {"k": false}
-- actual: [1] | {"k": 0}
CREATE VIEW v AS SELECT JSON_ARRAY(TRUE) AS a, JSON_OBJECT('k', FALSE) AS b;
SELECT a, b FROM v;
