-- Found by the class in-and-not-in-empty-subquery on MariaDB 10.11.19.
-- IN over an empty EXCEPT or INTERSECT is NULL.
SELECT 3 IN (SELECT NULL EXCEPT SELECT NULL), 3 IN (SELECT * FROM (SELECT NULL EXCEPT SELECT NULL) AS d);
-- 10.11.19: NULL, 0; it must be 0, 0.
