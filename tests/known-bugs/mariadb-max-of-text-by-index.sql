-- Found by the class tlp-min-max on MariaDB 10.11.19.
-- MAX by an index searches a number as if it were a text.
CREATE TABLE t(s VARCHAR(9), KEY(s));
INSERT INTO t VALUES ('a');
SELECT MAX(s) FROM t IGNORE INDEX(s) WHERE s = 0;
SELECT MAX(s) FROM t WHERE s = 0;
-- 10.11.19: a, then NULL; the second must be a too.
