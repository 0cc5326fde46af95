-- Remember the given keys of messages that have left.
INSERT INTO duerow_remembered (queue, `key`, id, until) SELECT given.queue, given.`key`, given.id,
    timestampadd(MICROSECOND, :keys, UTC_TIMESTAMP(6)) AS timestampadd_1
FROM (SELECT given_rows.`queue`, given_rows.`key`, given_rows.`id`, given_rows.nth_given
FROM JSON_TABLE(:given, '$[*]' COLUMNS (`queue` VARCHAR(255) CHARACTER
SET utf8mb4 COLLATE utf8mb4_0900_bin PATH '$[0]', `key` VARCHAR(255) CHARACTER
SET utf8mb4 COLLATE utf8mb4_0900_bin PATH '$[1]', `id` BIGINT PATH '$[2]', nth_given FOR ORDINALITY)) AS given_rows)
    AS given
WHERE 1 = 1
ORDER BY given.queue, given.`key` ON DUPLICATE KEY UPDATE id = given.id, until = timestampadd(MICROSECOND, :keys,
    UTC_TIMESTAMP(6))
