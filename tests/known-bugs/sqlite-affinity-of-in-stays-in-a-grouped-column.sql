-- title: IN converts what it compares, a text to a number or a REAL to an integer, and below GROUP BY what comes after
--   reads that.
-- engine: sqlite
-- status: fixed in 3.54.1
-- found: oracle consistency (scan against grouped-by-value) on SQLite 3.39.2
-- wrong: 3.17.0 to 3.53.4
-- right: 3.54.1
-- newest: 3.54.1, right
-- cause: the affinity is applied to the register of the grouped column itself, not to a copy
-- cure: none of the 32 bits of SQLITE_TESTCTRL_OPTIMIZATIONS
-- must-be: "Affinity is applied to operands of a comparison operator prior to the comparison" (SQLite documentation,
--   Datatypes In SQLite, 4.2): to the operands, not to the column
-- upstream: searched, none found
-- expected: text ; text ; 0.0 ; 0.0
-- actual: text ; integer ; 0.0 ; 0
CREATE TABLE t(a TEXT, r REAL);
INSERT INTO t VALUES ('-1', 0.0);
SELECT typeof(CASE WHEN a IN (SELECT r FROM t) THEN 0 ELSE a END) FROM t;
SELECT typeof(CASE WHEN a IN (SELECT r FROM t) THEN 0 ELSE a END) FROM t GROUP BY a;
SELECT CASE WHEN r IN (SELECT a FROM t) THEN 1 ELSE r || '' END FROM t;
SELECT CASE WHEN r IN (SELECT a FROM t) THEN 1 ELSE r || '' END FROM t GROUP BY r;
