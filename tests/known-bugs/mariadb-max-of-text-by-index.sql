-- title: MAX by an index searches a number as if it were a text.
-- engine: mariadb
-- status: open
-- found: class tlp-min-max on MariaDB 10.11.19
-- wrong: 10.1.23 to 11.8.9
-- right: none of those tried
-- newest: 11.8.9, wrong
-- cause: the condition with the number is used as a bound of the index on text
-- cure: IGNORE INDEX, as in the first query; no flag of optimizer_switch
-- must-be: "Note that if a string column is being compared with a numeric value, MariaDB will not use the index on the
--   column" (MariaDB documentation, Type Conversion)
-- upstream: searched, none found
-- expected: a ; a
-- actual: a ; NULL
CREATE TABLE t(s VARCHAR(9), KEY(s));
INSERT INTO t VALUES ('a');
SELECT MAX(s) FROM t IGNORE INDEX(s) WHERE s = 0;
SELECT MAX(s) FROM t WHERE s = 0;
