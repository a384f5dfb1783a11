-- Found by the classes tlp-distinct-placeholder and greatest-key-per-group on DuckDB 1.4.5.
-- substr with a start behind the end and a negative length, of a column that statistics know to be ASCII.
CREATE TABLE t(s VARCHAR);
INSERT INTO t VALUES ('1');
SELECT substr(s, 4, -2), substr(s || '', 4, -2) FROM t;
-- 1.4.5: ('1', ''); it must be ('', ''), as on 2.0.0.
