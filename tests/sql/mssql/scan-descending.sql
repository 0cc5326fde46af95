-- Read messages of many queues in the order of their ids, which alone serves it: `queues`, `statuses`.
SELECT TOP (CAST(:limit_in AS INT)) duerow_message.id
FROM duerow_message
WHERE duerow_message.id <= CAST(:last AS BIGINT)
ORDER BY duerow_message.id DESC
