-- title: A view used twice loses a column of the second use that the first does not read; l.y IS l.y is always true, so
--   both queries must give the same rows.
-- engine: sqlite
-- status: open
-- found: a discovered class, equivalents of a self-join over a table placeholder, on SQLite 3.54.1
-- wrong: 3.42.0 to 3.54.1
-- right: 3.17.0 to 3.41.2
-- newest: 3.54.1, wrong
-- cause: the first use does not read y, so y is made NULL in that copy; the rows of that copy serve the second use too,
--   because a changed copy is known by its last arm only, and that was NULL already
-- cure: .testctrl optimizations 0x04000000, which turns NullUnusedCols off
-- must-be: nothing to quote: a view gives the rows of its query
-- upstream: searched, none found
-- expected: 1 | a / 2 | NULL ; 1 | a / 2 | NULL
-- actual: 1 | NULL / 2 | NULL ; 1 | a / 2 | NULL
CREATE VIEW v AS SELECT 1 AS x, 'a' AS y UNION ALL SELECT 2, NULL;
SELECT l.x, r.y FROM v AS l JOIN v AS r ON l.x = r.x;
SELECT l.x, r.y FROM v AS l JOIN v AS r ON l.x = r.x WHERE l.y IS l.y;
