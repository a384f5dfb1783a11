-- title: Within a window function x IS NOT likelihood(FALSE, ...) is evaluated as x IS NOT FALSE, which asks for the
--   truth of x.
-- engine: sqlite
-- status: open
-- found: class having-is-filter-on-derived-table on SQLite 3.54.1
-- wrong: 3.35.4 to 3.54.1
-- right: 3.28.0 to 3.33.0 (3.24.0 and before have no window functions)
-- newest: 3.54.1, wrong
-- cause: likelihood() is taken away when the expression is copied for the window, before IS is read
-- cure: none of the 32 bits of SQLITE_TESTCTRL_OPTIMIZATIONS
-- must-be: "The likelihood(X,Y) function returns argument X unchanged." (SQLite documentation, Built-In Scalar SQL
--   Functions) and "The IS and IS NOT operators work like = and != except when one or both of the operands are NULL."
--   (SQL Language Expressions): a blob is not the number 0
-- upstream: searched, none found
-- expected: 1 ; 1 ; 1
-- actual: 1 ; 1 ; 0
SELECT x'00' IS NOT likelihood(FALSE, 0.5);
SELECT MAX(x'00' IS NOT likelihood(FALSE, 0.5)) FROM (SELECT 1);
SELECT MAX(x'00' IS NOT likelihood(FALSE, 0.5)) OVER () FROM (SELECT 1);
