-- Read the ids of the rows that `change` would change.
SELECT STRAIGHT_JOIN duerow_message.id
FROM (SELECT given_rows.`id`, given_rows.`token`, given_rows.nth_given
FROM JSON_TABLE(:given, '$[*]' COLUMNS (`id` BIGINT PATH '$[0]', `token` BIGINT PATH '$[1]', nth_given FOR
    ORDINALITY)) AS given_rows) AS given INNER
JOIN duerow_message ON duerow_message.id = given.id AND duerow_message.token = given.token
WHERE duerow_message.queue = :queue_in AND duerow_message.status != 'done' AND (:even_if_leased = 1 OR
    duerow_message.leased_until IS NULL OR duerow_message.leased_until <= UTC_TIMESTAMP(6))
