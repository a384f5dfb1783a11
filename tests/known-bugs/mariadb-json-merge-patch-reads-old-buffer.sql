-- Found by the oracle consistency (ordered-by-key and other-order against scan) on MariaDB 10.11.19.
-- After a NULL argument JSON_MERGE_PATCH reads the buffer of the argument before: what it finds depends on the row before.
CREATE TABLE t(k INT);
INSERT INTO t VALUES (1), (2), (3);
SELECT k, JSON_MERGE_PATCH(NULL, k, -1), JSON_MERGE_PATCH(NULL, k, '-1') FROM t;
-- 10.11.19: (1, -1, -1), (2, NULL, -1), (3, NULL, -1), with "Syntax error in JSON text in argument 1"; every row must have the same.
