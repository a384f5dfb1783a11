-- title: CAST AS BINARY(n) of a text keeps n characters, not n bytes, unless it passes a temporary table.
-- engine: mariadb
-- status: open
-- found: oracle consistency (union-all and window against scan) on MariaDB 10.11.19
-- wrong: 10.1.23 to 11.8.9
-- right: none of those tried
-- newest: 11.8.9, wrong
-- cause: the cut counts characters of the text, not bytes
-- cure: sql_buffer_result=1, which sends every result through a temporary table; no flag of optimizer_switch
-- must-be: "M represents the column length in bytes." (MariaDB documentation, BINARY)
-- upstream: searched, none found
-- expected: C3A9 ; C3A9
-- actual: C3A9C3A9 ; C3A9
CREATE TABLE t(a VARCHAR(9) CHARSET utf8mb4);
INSERT INTO t VALUES (_utf8mb4 x'C3A9C3A9C3A9');
SELECT HEX(CAST(a AS BINARY(2))) FROM t;
SELECT HEX(b) FROM (SELECT CAST(a AS BINARY(2)) AS b FROM t LIMIT 1) AS d;
