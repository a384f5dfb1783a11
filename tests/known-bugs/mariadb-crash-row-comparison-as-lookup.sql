-- Found by the class tlp-derived-table on MariaDB 10.11.19.
-- The server ends with signal 11 when a comparison of rows is the key that a split grouped derived table is searched by.
CREATE TABLE t(a INT PRIMARY KEY, b INT) PARTITION BY KEY() PARTITIONS 3;
WITH v AS (SELECT 7 AS a) SELECT s.n FROM v LEFT JOIN (SELECT a, SUM(b) AS n FROM t GROUP BY a) AS s ON s.a = ((2, v.a) = (v.a, 1));
-- 10.11.19: crash; it must be NULL. With split_materialized=off it is.
