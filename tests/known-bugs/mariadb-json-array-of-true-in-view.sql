-- Found by the oracle consistency (view against scan) on MariaDB 10.11.19.
-- A view keeps TRUE and FALSE as 1 and 0, which are other values in JSON (https://jira.mariadb.org/browse/MDEV-28649).
CREATE VIEW v AS SELECT JSON_ARRAY(TRUE) AS a, JSON_OBJECT('k', FALSE) AS b;
SELECT a, b FROM v;
-- 10.11.19: ([1], {"k": 0}); it must be ([true], {"k": false}), as without the view.
