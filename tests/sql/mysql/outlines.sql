-- Read the rows of a queue whose token matches, as OUTLINE.
SELECT duerow_message.id, duerow_message.`key`, duerow_message.headers AS headers, duerow_message.`group`,
    duerow_message.priority
FROM (SELECT given_rows.`id`, given_rows.`token`, given_rows.nth_given
FROM JSON_TABLE(:given, '$[*]' COLUMNS (`id` BIGINT PATH '$[0]', `token` BIGINT PATH '$[1]', nth_given FOR
    ORDINALITY)) AS given_rows) AS given INNER
JOIN duerow_message ON duerow_message.id = given.id AND duerow_message.token = given.token
WHERE duerow_message.queue = :queue_in
