-- title: COUNT(DISTINCT constant) counts rows where temporary tables are on disk.
-- engine: mariadb
-- status: open
-- found: class norec-aggregates on MariaDB 10.11.19
-- wrong: 10.11.5 to 11.8.9
-- right: 10.2.11 (10.1.23 has no tmp_memory_table_size)
-- newest: 11.8.9, wrong
-- cause: a temporary table on disk with a constant alone has no unique key
-- cure: tmp_memory_table_size above 0 (the script sets it to 0); no flag of optimizer_switch
-- must-be: "Returns a count of the number of different non-NULL values." (MariaDB documentation, COUNT DISTINCT)
-- upstream: searched, none found
-- expected: 1 ; 1
-- actual: 1 ; 2
CREATE TABLE t(a INT);
INSERT INTO t VALUES (1), (2);
SELECT COUNT(DISTINCT 'b') FROM t;
SET tmp_memory_table_size = 0;
SELECT COUNT(DISTINCT 'b') FROM t;
