-- Found on MariaDB 10.11.19.
-- NOT NOT of a comparison with ANY is another one.
CREATE TABLE t(a INT);
INSERT INTO t VALUES (3);
SELECT 3 < ANY (SELECT a FROM t), NOT (NOT (3 < ANY (SELECT a FROM t))) FROM t;
-- 10.11.19: (0, 1); it must be (0, 0).
