-- Found by the class norec-left-join-placeholder and 30 others on MariaDB 10.11.19.
-- The server ends with signal 11 when a condition on ST_IsSimple, ST_IsRing or ST_Relate is pushed into a derived table.
CREATE TABLE t(a INT);
INSERT INTO t VALUES (1), (2);
SELECT 1 FROM (SELECT ST_IsSimple(ST_GeomFromText('LINESTRING(0 0, 1 1)')) AS b FROM t) AS s WHERE b;
SELECT 1 FROM (SELECT ST_Relate(POINT(a, 0), ST_GeomFromText('LINESTRING(0 0, 1 0)'), 'F0FFFF102') AS b FROM t) AS s WHERE b;
-- 10.11.19: crash, crash; it must be 1, 1 and no row.
