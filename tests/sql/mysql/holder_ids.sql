-- Read the ids of the live messages that hold the given keys.
SELECT STRAIGHT_JOIN duerow_message.queue, duerow_message.`key`, duerow_message.id
FROM (SELECT given_rows.`queue`, given_rows.`key`, given_rows.nth_given
FROM JSON_TABLE(:given, '$[*]' COLUMNS (`queue` VARCHAR(255) CHARACTER
SET utf8mb4 COLLATE utf8mb4_0900_bin PATH '$[0]', `key` VARCHAR(255) CHARACTER
SET utf8mb4 COLLATE utf8mb4_0900_bin PATH '$[1]', nth_given FOR ORDINALITY)) AS given_rows) AS given INNER
JOIN duerow_message ON duerow_message.queue = given.queue AND duerow_message.live_key = given.`key` AND
    duerow_message.live_key IS NOT NULL FOR SHARE
