-- Found by the oracle consistency (minimum, maximum and correlated-subquery against scan) on MariaDB 10.11.19.
-- What is no date is NULL as a date, but a date again in MIN, MAX and a scalar subquery.
CREATE TABLE t(k INT, s VARCHAR(20));
INSERT INTO t VALUES (1, '2020-02-30');
SELECT CAST(s AS DATE), COUNT(CAST(s AS DATE)), MIN(CAST(s AS DATE)) FROM t;
-- 10.11.19: (NULL, 0, 2020-02-30); the last must be NULL.
