-- Found by the oracle consistency (preserved against scan) on PostgreSQL 18.4.
-- After an error in one row, JSON_VALUE, JSON_QUERY and JSON_EXISTS give the ON ERROR value for a NULL in the next row too.
CREATE TABLE t(k INT, x JSONB);
INSERT INTO t VALUES (1, '"b"'), (2, NULL);
SELECT k, JSON_VALUE(x, '$' RETURNING INT DEFAULT 1 ON ERROR) FROM t;
-- 17.6, 17.7, 18.4 and 18.6: (1, 1), (2, 1); the second must be (2, NULL), as it is with WHERE k = 2.
