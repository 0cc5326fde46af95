-- Read the ids and tokens of the messages of sets that are still there, locked where rows can be.
SELECT STRAIGHT_JOIN duerow_message.id, duerow_message.token
FROM (SELECT given_rows.`id`, given_rows.`queue`, given_rows.nth_given
FROM JSON_TABLE(:given, '$[*]' COLUMNS (`id` BIGINT PATH '$[0]', `queue` VARCHAR(255) CHARACTER
SET utf8mb4 COLLATE utf8mb4_0900_bin PATH '$[1]', nth_given FOR ORDINALITY)) AS given_rows) AS given INNER
JOIN duerow_message ON duerow_message.id = given.id AND duerow_message.queue = given.queue
FOR UPDATE OF duerow_message
