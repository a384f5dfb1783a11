-- Found by the class maximum-as-no-greater on MariaDB 10.11.19.
-- The server ends with signal 11.
SELECT 'a' IN ('b', SUBSTR(FROM_BASE64('QQ=='), 2));
-- 10.11.19: crash; it must be 0.
