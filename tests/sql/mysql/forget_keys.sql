-- Take remembered keys away; return the ids of those who held them.
SELECT STRAIGHT_JOIN duerow_remembered.id, duerow_remembered.queue, duerow_remembered.`key`, UTC_TIMESTAMP(6) AS
    anon_1
FROM (SELECT given_rows.`queue`, given_rows.`key`, given_rows.nth_given
FROM JSON_TABLE(:given, '$[*]' COLUMNS (`queue` VARCHAR(255) CHARACTER
SET utf8mb4 COLLATE utf8mb4_0900_bin PATH '$[0]', `key` VARCHAR(255) CHARACTER
SET utf8mb4 COLLATE utf8mb4_0900_bin PATH '$[1]', nth_given FOR ORDINALITY)) AS given_rows) AS given INNER
JOIN duerow_remembered ON duerow_remembered.queue = given.queue AND duerow_remembered.`key` = given.`key`
FOR UPDATE; DELETE /*+ SET_VAR(sql_safe_updates = 0) */ duerow_remembered
FROM (SELECT found_rows.`queue`, found_rows.`key`, found_rows.nth_given
FROM JSON_TABLE(:found, '$[*]' COLUMNS (`queue` VARCHAR(255) CHARACTER
SET utf8mb4 COLLATE utf8mb4_0900_bin PATH '$[0]', `key` VARCHAR(255) CHARACTER
SET utf8mb4 COLLATE utf8mb4_0900_bin PATH '$[1]', nth_given FOR ORDINALITY)) AS found_rows) AS found STRAIGHT_JOIN
    duerow_remembered ON duerow_remembered.queue = found.queue AND duerow_remembered.`key` = found.`key`
