-- Take some messages of a queue away, whatever they are; return their ids.
DELETE
FROM duerow_message
WHERE duerow_message.id = ANY (array((SELECT duerow_message.id
FROM duerow_message
WHERE duerow_message.queue = :queue_in::VARCHAR
LIMIT :limit_in::INTEGER
FOR UPDATE SKIP LOCKED)))
RETURNING duerow_message.id
