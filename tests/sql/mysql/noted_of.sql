-- Read which of the given names are noted.
SELECT STRAIGHT_JOIN duerow_noted.name
FROM (SELECT given_rows.`name`, given_rows.nth_given
FROM JSON_TABLE(:given, '$[*]' COLUMNS (`name` VARCHAR(255) CHARACTER
SET utf8mb4 COLLATE utf8mb4_0900_bin PATH '$', nth_given FOR ORDINALITY)) AS given_rows) AS given INNER
JOIN duerow_noted ON duerow_noted.name = given.name FOR SHARE
