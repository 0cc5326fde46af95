-- Read which of the given names are noted.
SELECT STRAIGHT_JOIN duerow_noted.name
FROM (SELECT given_rows.`name`
FROM JSON_TABLE(:given, '$[*]' COLUMNS (`name` VARCHAR(255) CHARACTER
SET utf8mb4 COLLATE utf8mb4_nopad_bin PATH '$')) AS given_rows) AS given INNER
JOIN duerow_noted ON duerow_noted.name = given.name LOCK IN SHARE MODE
