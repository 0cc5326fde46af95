-- Read messages of many queues in the order of their ids, which alone serves it: `queues`, `statuses`.
SELECT duerow_message.id
FROM duerow_message
WHERE duerow_message.id <= :last
ORDER BY duerow_message.id DESC
LIMIT :limit_in
