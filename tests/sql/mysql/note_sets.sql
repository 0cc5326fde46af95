-- Note the messages of sets, the numbers of their parts, and for how long it is known that one was
-- complete.
INSERT INTO duerow_set (queue, correlation, set_id, parts, closed_until) SELECT given.queue, given.correlation,
    given.set_id, given.parts, timestampadd(MICROSECOND, given.remember, UTC_TIMESTAMP(6)) AS timestampadd_1
FROM (SELECT given_rows.`queue`, given_rows.`correlation`, given_rows.`set_id`, given_rows.`parts`,
    given_rows.`remember`, given_rows.nth_given
FROM JSON_TABLE(:given, '$[*]' COLUMNS (`queue` VARCHAR(255) CHARACTER
SET utf8mb4 COLLATE utf8mb4_0900_bin PATH '$[0]', `correlation` VARCHAR(255) CHARACTER
SET utf8mb4 COLLATE utf8mb4_0900_bin PATH '$[1]', `set_id` BIGINT PATH '$[2]', `parts` BIGINT PATH '$[3]', `remember`
    BIGINT PATH '$[4]', nth_given FOR ORDINALITY)) AS given_rows) AS given
WHERE 1 = 1 ON DUPLICATE KEY UPDATE set_id = given.set_id, parts = given.parts, closed_until =
    timestampadd(MICROSECOND, given.remember, UTC_TIMESTAMP(6))
