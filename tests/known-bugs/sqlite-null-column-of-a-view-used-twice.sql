-- Found by a discovered class, equivalents of a self-join over a table placeholder, on SQLite 3.54.1; also in 3.44.0, 3.50.4
-- and 3.51.3. Right on 3.39.2, 3.40.1 and 3.41.2. Right too with the optimization 0x04000000 off (NullUnusedCols).
-- The two queries must give the same rows: `l.y IS l.y` is always true. In the first one the first use of the view does
-- not read y, so the engine makes y NULL in that copy, and then takes the rows of that copy for the second use, which
-- does read y. It tells a changed copy by its last arm only, and the last arm was NULL already, so it was not changed.
CREATE VIEW v AS SELECT 1 AS x, 'a' AS y UNION ALL SELECT 2, NULL;
SELECT l.x, r.y FROM v AS l JOIN v AS r ON l.x = r.x;
SELECT l.x, r.y FROM v AS l JOIN v AS r ON l.x = r.x WHERE l.y IS l.y;
-- 3.54.1: (1, NULL), (2, NULL), then (1, 'a'), (2, NULL)
