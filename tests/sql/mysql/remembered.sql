-- Read who held the given keys, and whether they are still remembered.
SELECT STRAIGHT_JOIN duerow_remembered.queue, duerow_remembered.`key`, duerow_remembered.id, duerow_remembered.until >
    UTC_TIMESTAMP(6) AS still
FROM (SELECT given_rows.`queue`, given_rows.`key`, given_rows.nth_given
FROM JSON_TABLE(:given, '$[*]' COLUMNS (`queue` VARCHAR(255) CHARACTER
SET utf8mb4 COLLATE utf8mb4_0900_bin PATH '$[0]', `key` VARCHAR(255) CHARACTER
SET utf8mb4 COLLATE utf8mb4_0900_bin PATH '$[1]', nth_given FOR ORDINALITY)) AS given_rows) AS given INNER
JOIN duerow_remembered ON duerow_remembered.queue = given.queue AND duerow_remembered.`key` = given.`key` FOR SHARE
