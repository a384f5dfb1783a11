-- title: A view keeps CHR as CHAR ... USING, which skips a NULL where CHR is NULL.
-- engine: mariadb
-- status: open
-- found: oracle consistency (view against scan) on MariaDB 10.11.19
-- wrong: 10.11.5 to 11.8.9
-- right: none of those tried (10.1.23 and 10.2.11 have no CHR)
-- newest: 11.8.9, wrong
-- cause: CHR is printed as CHAR ... USING in the definition of the view
-- cure: none of the flags of optimizer_switch, each turned over alone, nor any of 20 other settings
-- must-be: "NULL values are skipped." (MariaDB documentation, CHAR Function); the page of CHR says nothing of NULL, but
--   the view must give what its query gives: "The view definition is "frozen" at creation time" (CREATE VIEW)
-- upstream: searched, none found
-- expected: NULL | NULL
-- actual: NULL | ''
CREATE VIEW v AS SELECT CHR(NULL) AS a;
SELECT CHR(NULL), a FROM v;
