-- Read turns of many queues in the order of their ids and tokens: `queues`; with `descending`
-- downwards.
SELECT TOP (CAST(:limit_in AS INT)) duerow_history.id
FROM duerow_history
WHERE duerow_history.id <= CAST(:last AS BIGINT)
ORDER BY duerow_history.id DESC, duerow_history.token DESC
