-- Read turns of many queues in the order of their ids and tokens: `queues`; with `descending`
-- downwards.
SELECT duerow_history.id, duerow_history.token, duerow_history.queue, duerow_history."key", duerow_history.kind,
    duerow_history.payload AS payload, duerow_history.headers AS headers, duerow_history."group",
    duerow_history.priority, duerow_history.outcome, duerow_history.moved_to, duerow_history.attempts,
    duerow_history.created_at, duerow_history.first_due_at, duerow_history.due_at, duerow_history.started_at,
    duerow_history.finished_at, duerow_history.worker, duerow_history.error AS error
FROM duerow_history
WHERE duerow_history.id <= :last AND coalesce(duerow_history.queue, '') IN (SELECT queues.value
FROM (SELECT queues_rows.value AS value
FROM json_each(:queues) AS queues_rows) AS queues) AND duerow_history.outcome = :param_1 AND (CASE WHEN
    (json_type(CASE WHEN (json_valid(duerow_history.payload) = 1) THEN duerow_history.payload END, :param_2) IN
    ('integer', 'real') AND typeof(json_extract(CASE WHEN (json_valid(duerow_history.payload) = 1) THEN
    duerow_history.payload END, :param_2)) = 'integer') THEN json_extract(CASE WHEN
    (json_valid(duerow_history.payload) = 1) THEN duerow_history.payload END, :param_2) END = :param_3 OR CASE WHEN
    (json_type(CASE WHEN (json_valid(duerow_history.payload) = 1) THEN duerow_history.payload END, :param_2) IN
    ('integer', 'real') AND typeof(json_extract(CASE WHEN (json_valid(duerow_history.payload) = 1) THEN
    duerow_history.payload END, :param_2)) = 'real' AND json_extract(CASE WHEN (json_valid(duerow_history.payload) =
    1) THEN duerow_history.payload END, :param_2) > -9e999 AND json_extract(CASE WHEN
    (json_valid(duerow_history.payload) = 1) THEN duerow_history.payload END, :param_2) < 9e999) THEN
    json_extract(CASE WHEN (json_valid(duerow_history.payload) = 1) THEN duerow_history.payload END, :param_2) END =
    json_extract(:param_4, '$')) AND (CASE WHEN (json_type(CASE WHEN (json_valid(duerow_history.error) = 1) THEN
    duerow_history.error END, :param_5) = 'text') THEN json_extract(CASE WHEN (json_valid(duerow_history.error) = 1)
    THEN duerow_history.error END, :param_5) END GLOB :param_6) AND (duerow_history.id, duerow_history.token) >
    (:after, :after_token)
ORDER BY duerow_history.id, duerow_history.token
LIMIT :limit_in OFFSET :param_7
