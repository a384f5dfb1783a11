-- Found by the oracle consistency (view against scan) on MariaDB 10.11.19.
-- A view keeps CHR as CHAR ... USING, which skips a NULL where CHR is NULL.
CREATE VIEW v AS SELECT CHR(NULL) AS a;
SELECT CHR(NULL), a FROM v;
-- 10.11.19: (NULL, ''); the second must be NULL too.
