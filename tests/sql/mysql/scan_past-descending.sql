-- Read turns of many queues in the order of their ids and tokens: `queues`; with `descending`
-- downwards.
SELECT duerow_history.id
FROM duerow_history
WHERE duerow_history.id <= :last
ORDER BY duerow_history.id DESC, duerow_history.token DESC
LIMIT :limit_in
