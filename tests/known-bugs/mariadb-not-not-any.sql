-- title: NOT NOT of a comparison with ANY is another comparison.
-- engine: mariadb
-- status: open
-- found: by hand, on MariaDB 10.11.19
-- wrong: 10.1.23 to 11.8.9
-- right: none of those tried
-- newest: 11.8.9, wrong
-- cause: each NOT turns the comparison over, the second without turning ALL back to ANY
-- cure: none of the flags of optimizer_switch, each turned over alone, nor any of 20 other settings
-- must-be: "Evaluates to 1 if the operand is 0, to 0 if the operand is non-zero" (MariaDB documentation, NOT)
-- upstream: searched, none found
-- expected: 0 | 0
-- actual: 0 | 1
CREATE TABLE t(a INT);
INSERT INTO t VALUES (3);
SELECT 3 < ANY (SELECT a FROM t), NOT (NOT (3 < ANY (SELECT a FROM t))) FROM t;
