-- Found on MariaDB 10.11.19.
-- JSON_DEPTH of a column that is NOT NULL is taken to be NOT NULL, but is NULL for what is no JSON.
CREATE TABLE t(c VARCHAR(9) NOT NULL);
INSERT INTO t VALUES ('a');
SELECT JSON_DEPTH(c), JSON_DEPTH(c) IS NULL FROM t;
SELECT COUNT(*) FROM t WHERE JSON_DEPTH(c) IS NULL;
-- 10.11.19: the count is 0; it must be 1.
