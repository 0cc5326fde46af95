-- Take some messages of a queue away, whatever they are, each kind by its own index; return their ids.
SELECT STRAIGHT_JOIN duerow_message.id, duerow_message.id AS id__1, UTC_TIMESTAMP(6) AS anon_1
FROM (SELECT some.id AS id
FROM (SELECT anon_2.id AS id
FROM (SELECT duerow_message.id AS id
FROM duerow_message
WHERE duerow_message.queue = :queue_in AND duerow_message.due_at IS NOT NULL AND duerow_message.line = 0 AND
    duerow_message.id <= :last_in
LIMIT :limit_in) AS anon_2 UNION ALL SELECT anon_3.id AS id
FROM (SELECT duerow_message.id AS id
FROM duerow_message
WHERE duerow_message.queue = :queue_in AND duerow_message.live_group IS NOT NULL AND duerow_message.id <= :last_in
LIMIT :limit_in) AS anon_3 UNION ALL SELECT anon_4.id AS id
FROM (SELECT duerow_message.id AS id
FROM duerow_message
WHERE duerow_message.queue = :queue_in AND duerow_message.rests = 1 AND duerow_message.id <= :last_in
LIMIT :limit_in) AS anon_4) AS some
LIMIT :limit_in) AS picked INNER
JOIN duerow_message ON duerow_message.id = picked.id
FOR UPDATE; DELETE /*+ SET_VAR(sql_safe_updates = 0) */ duerow_message
FROM (SELECT found_rows.`id`, found_rows.nth_given
FROM JSON_TABLE(:found, '$[*]' COLUMNS (`id` BIGINT PATH '$', nth_given FOR ORDINALITY)) AS found_rows) AS found
    STRAIGHT_JOIN duerow_message ON duerow_message.id = found.id
