-- title: MAKE_SET of a number and bytes is sent to the client as if the bytes were latin1 text.
-- engine: mariadb
-- status: open
-- found: oracle consistency (stored and switch against scan) on MariaDB 10.11.19
-- wrong: 10.1.23 to 11.8.9
-- right: none of those tried
-- newest: 11.8.9, wrong
-- cause: the number gives the whole its character set, latin1, and the bytes are converted from it
-- cure: none of the flags of optimizer_switch, each turned over alone, nor any of 20 other settings
-- must-be: the manual says nothing of bytes in MAKE_SET; a binary string "contains no character set" (MariaDB
--   documentation, BINARY)
-- upstream: searched, none found
-- note: the client must speak utf8mb4
-- expected: 1,é ; 1,é
-- actual: 1,Ã© ; 1,é
SET NAMES utf8mb4;
SELECT MAKE_SET(3, 1, x'C3A9');
SELECT CONCAT(MAKE_SET(3, 1, x'C3A9'));
