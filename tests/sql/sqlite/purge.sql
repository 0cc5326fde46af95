-- Take some messages of a queue away, whatever they are; return their ids.
DELETE
FROM duerow_message
WHERE duerow_message.id IN (SELECT duerow_message.id
FROM duerow_message
WHERE duerow_message.queue = :queue_in
LIMIT :limit_in OFFSET :param_1)
RETURNING id
