-- title: JSON_DEPTH of a column that is NOT NULL is taken to be NOT NULL, but is NULL for what is no JSON.
-- engine: mariadb
-- status: open
-- found: by hand, on MariaDB 10.11.19
-- wrong: 10.2.11 to 11.8.9
-- right: none of those tried (10.1.23 has no JSON_DEPTH)
-- newest: 11.8.9, wrong
-- cause: the function returns NULL on an error, but is declared NOT NULL
-- cure: none of the flags of optimizer_switch, each turned over alone, nor any of 20 other settings
-- must-be: "An error occurs if the argument is an invalid JSON document." (MariaDB documentation, JSON_DEPTH); it gives
--   NULL and a warning, and IS NULL "Tests whether a value is NULL." (IS NULL)
-- upstream: searched, none found
-- expected: NULL | 1 ; 1
-- actual: NULL | 0 ; 0
CREATE TABLE t(c VARCHAR(9) NOT NULL);
INSERT INTO t VALUES ('a');
SELECT JSON_DEPTH(c), JSON_DEPTH(c) IS NULL FROM t;
SELECT COUNT(*) FROM t WHERE JSON_DEPTH(c) IS NULL;
