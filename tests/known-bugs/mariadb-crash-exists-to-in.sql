-- Found by the class exists-conjunction-is-not-one-witness on MariaDB 10.11.19.
-- The server ends with signal 11 unless optimizer_switch has exists_to_in=off.
CREATE TABLE t(a INT);
CREATE TABLE u(a INT);
INSERT INTO t VALUES (2), (1);
SELECT a FROM t WHERE NOT EXISTS (SELECT 1 FROM u WHERE u.a = (SELECT COUNT(*) FROM t AS x JOIN t AS y WHERE x.a = t.a) AND FALSE);
-- 10.11.19: crash; it must be 2, 1.
