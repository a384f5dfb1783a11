-- Found by the oracle consistency (stored and switch against scan) on MariaDB 10.11.19.
-- MAKE_SET of a number and bytes is sent to the client as if the bytes were latin1 text.
SET NAMES utf8mb4;
SELECT MAKE_SET(3, 1, x'C3A9');
SELECT CONCAT(MAKE_SET(3, 1, x'C3A9'));
-- 10.11.19: the bytes 31 2C C383 C2A9, then 31 2C C3A9; it must be the second both times, a binary string is not converted.
