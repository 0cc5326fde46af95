-- Take some messages of a queue away, whatever they are, each kind by its own index; return their ids.
DELETE
FROM duerow_message
WHERE duerow_message.id IN (SELECT "some".id
FROM (SELECT anon_1.id AS id
FROM (SELECT duerow_message.id AS id
FROM duerow_message
WHERE duerow_message.queue = :queue_in::VARCHAR AND duerow_message.due_at IS NOT NULL AND duerow_message."group" IS
    NULL AND duerow_message.id <= :last_in::BIGINT
LIMIT :limit_in::INTEGER) AS anon_1 UNION ALL SELECT anon_2.id AS id
FROM (SELECT duerow_message.id AS id
FROM duerow_message
WHERE duerow_message.queue = :queue_in::VARCHAR AND duerow_message."group" IS NOT NULL AND duerow_message.status IN
    ('new', 'error') AND duerow_message.id <= :last_in::BIGINT
LIMIT :limit_in::INTEGER) AS anon_2 UNION ALL SELECT anon_3.id AS id
FROM (SELECT duerow_message.id AS id
FROM duerow_message
WHERE duerow_message.queue = :queue_in::VARCHAR AND duerow_message.due_at IS NULL AND duerow_message.behind_at IS NULL
    AND duerow_message.id <= :last_in::BIGINT
LIMIT :limit_in::INTEGER) AS anon_3) AS "some"
LIMIT :limit_in::INTEGER)
RETURNING duerow_message.id
