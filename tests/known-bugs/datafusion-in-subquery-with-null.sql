-- title: IN of a subquery with a NULL is false where it is NULL.
-- engine: datafusion
-- status: open
-- found: classes candidate-a29 and not-in-three-valued on DataFusion 55.0.0
-- wrong: 49.0.0 to 55.0.0
-- right: none of those tried (41.0.0 does not implement the query)
-- newest: 55.0.0, wrong
-- cause: the mark join that IN becomes marks a row true or false, never NULL
-- cure: none of the optimizer settings that are true or false, each turned over alone
-- must-be: three-valued logic: "The expression `1 NOT IN (3, null)` is unknown (null)" (apache/datafusion#8241); no
--   page of the manual was read
-- upstream: apache/datafusion#21309 (closed; 55.0.0 is still wrong); kin: apache/datafusion#8241 (NOT IN, open)
-- expected: - ; null
-- actual: false ; -
CREATE TABLE t(a BIGINT);
INSERT INTO t VALUES (1);
CREATE TABLE u(n BIGINT);
INSERT INTO u VALUES (NULL);
SELECT 'false' FROM t WHERE (a IN (SELECT n FROM u)) IS FALSE;
SELECT 'null' FROM t WHERE (a IN (SELECT n FROM u)) IS NULL;
