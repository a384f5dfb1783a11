-- title: The engine panics on a subquery of several VALUES rows that uses a column of the outer row.
-- engine: turso
-- status: open
-- found: class candidate-a06 on Turso 0.8.3
-- wrong: 0.4.4 to 0.8.3
-- right: none of those tried
-- newest: 0.8.3, wrong
-- cause: a row of VALUES is translated without the tables around it
-- cure: none: VALUES of one row, or SELECT ... UNION ALL in its place
-- crash: thread '<unnamed>' panicked at core/translate/expr/translator.rs:2285:22: table_references needed translating
--   Expr::Column; the process ends with signal 6 (0.8.3 in Python; 0.4.4 at core/translate/expr.rs:2221:22)
-- must-be: no statement may end the process; SQLite, which Turso is to be compatible with, gives 1
-- upstream: searched, none found for VALUES; kin: tursodatabase/turso#5213 (closed)
-- expected: 1
-- actual: crash
CREATE TABLE t(a);
INSERT INTO t VALUES (1);
SELECT 1 IN (VALUES (3), (t.a)) FROM t;
