-- Take names away; return them.
SELECT STRAIGHT_JOIN duerow_noted.name, duerow_noted.name AS name__1, UTC_TIMESTAMP(6) AS anon_1
FROM (SELECT given_rows.`name`, given_rows.nth_given
FROM JSON_TABLE(:given, '$[*]' COLUMNS (`name` VARCHAR(255) CHARACTER
SET utf8mb4 COLLATE utf8mb4_0900_bin PATH '$', nth_given FOR ORDINALITY)) AS given_rows) AS given INNER
JOIN duerow_noted ON duerow_noted.name = given.name
FOR UPDATE; DELETE /*+ SET_VAR(sql_safe_updates = 0) */ duerow_noted
FROM (SELECT found_rows.`name`, found_rows.nth_given
FROM JSON_TABLE(:found, '$[*]' COLUMNS (`name` VARCHAR(255) CHARACTER
SET utf8mb4 COLLATE utf8mb4_0900_bin PATH '$', nth_given FOR ORDINALITY)) AS found_rows) AS found STRAIGHT_JOIN
    duerow_noted ON duerow_noted.name = found.name
