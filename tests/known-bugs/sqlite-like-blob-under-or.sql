-- Found by class contradictions-are-empty on SQLite 3.28.0; still in 3.54.1.
-- Both counts must be 1: `a OR (a AND NOT a)` is true where `a` is. Under OR the row is lost: the two passes of the LIKE
-- optimization over an index, one for text and one for blobs, do not survive there.
CREATE TABLE t(x BLOB COLLATE NOCASE UNIQUE);
INSERT INTO t VALUES (x'61');
SELECT COUNT(*) FROM t WHERE x LIKE 'a%';
SELECT COUNT(*) FROM t WHERE (x LIKE 'a%') OR ((x LIKE 'a%') AND NOT (x LIKE 'a%'));
-- 3.54.1: 1, then 0
