-- title: LIKE on a blob loses its row under OR: both counts must be alike, a OR (a AND NOT a) is true where a is.
-- engine: sqlite
-- status: open
-- found: class contradictions-are-empty on SQLite 3.28.0
-- wrong: 3.24.0 to 3.54.1
-- right: 3.17.0
-- newest: 3.54.1, wrong
-- cause: of the two passes of the LIKE optimization over an index, one for text and one for blobs, the second does not
--   survive under OR
-- cure: building with SQLITE_LIKE_DOESNT_MATCH_BLOBS, which makes both counts 0; none of the 32 bits of
--   SQLITE_TESTCTRL_OPTIMIZATIONS
-- must-be: "The default behavior of LIKE is that BLOB operands are cast to TEXT before the comparison is done." (SQLite
--   documentation, Compile-time Options, SQLITE_LIKE_DOESNT_MATCH_BLOBS)
-- upstream: searched, none found for OR; kin: SQLite ticket 05f43be8fdda9f (fixed in 2015), by which the LIKE
--   optimization has two passes
-- note: only in builds without SQLITE_LIKE_DOESNT_MATCH_BLOBS; Debian builds with it, the amalgamation by itself does
--   not
-- expected: 1 ; 1
-- actual: 1 ; 0
CREATE TABLE t(x BLOB COLLATE NOCASE UNIQUE);
INSERT INTO t VALUES (x'61');
SELECT COUNT(*) FROM t WHERE x LIKE 'a%';
SELECT COUNT(*) FROM t WHERE (x LIKE 'a%') OR ((x LIKE 'a%') AND NOT (x LIKE 'a%'));
