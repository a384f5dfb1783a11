-- title: After an error in one row, JSON_VALUE, JSON_QUERY and JSON_EXISTS give the ON ERROR value for a NULL in the
--   next row too.
-- engine: postgres
-- status: open
-- found: oracle consistency (preserved against scan) on PostgreSQL 18.4
-- wrong: 17.0 to 18.6
-- right: none of those tried (16.15 and before have no JSON_VALUE)
-- newest: 18.6, wrong (19rc1, wrong)
-- cause: the mark of the error is not taken back when the next row is NULL, which skips the evaluation
-- cure: none of 26 settings enable_*, jit, geqo and of 15 others, each changed alone; WHERE k = 2 alone gives NULL
-- must-be: "The ON ERROR clause specifies the behavior if an error occurs when evaluating path_expression" (PostgreSQL
--   18 documentation, table 9.54, JSON_QUERY, to which JSON_VALUE refers): none occurs for NULL
-- upstream: searched, none found
-- expected: 1 | 1 / 2 | NULL
-- actual: 1 | 1 / 2 | 1
CREATE TABLE t(k INT, x JSONB);
INSERT INTO t VALUES (1, '"b"'), (2, NULL);
SELECT k, JSON_VALUE(x, '$' RETURNING INT DEFAULT 1 ON ERROR) FROM t;
