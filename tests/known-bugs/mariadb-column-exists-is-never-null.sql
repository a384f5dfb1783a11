-- title: COLUMN_EXISTS of a number that no column can have is NULL, but taken to be NOT NULL.
-- engine: mariadb
-- status: open
-- found: oracle consistency (union-all against scan) on MariaDB 10.11.19
-- wrong: 10.1.23 to 11.8.9
-- right: none of those tried
-- newest: 11.8.9, wrong
-- cause: the function returns NULL on an error, but is declared NOT NULL
-- cure: none of the flags of optimizer_switch, each turned over alone, nor any of 20 other settings
-- must-be: "If yes, return 1, otherwise return 0." (MariaDB documentation, COLUMN_EXISTS)
-- upstream: searched, none found
-- note: NULL everywhere would be consistent too: NULL | 1 ; NULL / 1
-- expected: 0 | 0 ; 0 / 1
-- actual: NULL | 0 ; 0 / 1
SELECT COLUMN_EXISTS('', 65536), COLUMN_EXISTS('', 65536) IS NULL;
SELECT COLUMN_EXISTS('', 65536) UNION ALL SELECT 1;
