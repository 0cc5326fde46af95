-- Remember the keys of messages whose turn is about to end: of the rows whose token matches, locked.
INSERT INTO duerow_remembered (queue, `key`, id, until) SELECT STRAIGHT_JOIN duerow_message.queue,
    duerow_message.`key`, duerow_message.id, timestampadd(MICROSECOND, :keys, UTC_TIMESTAMP(6)) AS timestampadd_1
FROM (SELECT given_rows.`id`, given_rows.`token`, given_rows.nth_given
FROM JSON_TABLE(:given, '$[*]' COLUMNS (`id` BIGINT PATH '$[0]', `token` BIGINT PATH '$[1]', nth_given FOR
    ORDINALITY)) AS given_rows) AS given INNER
JOIN duerow_message ON duerow_message.id = given.id AND duerow_message.token = given.token
WHERE duerow_message.`key` IS NOT NULL
ORDER BY duerow_message.queue, duerow_message.`key`
FOR UPDATE OF duerow_message ON DUPLICATE KEY UPDATE id = duerow_message.id, until = timestampadd(MICROSECOND, :keys,
    UTC_TIMESTAMP(6))
