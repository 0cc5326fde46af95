-- Read turns of many queues in the order of their ids and tokens: `queues`; with `descending`
-- downwards.
SELECT duerow_history.id, duerow_history.token, duerow_history.queue, duerow_history.`key`, duerow_history.kind,
    duerow_history.payload AS payload, duerow_history.headers AS headers, duerow_history.`group`,
    duerow_history.priority, duerow_history.outcome, duerow_history.moved_to, duerow_history.attempts,
    duerow_history.created_at, duerow_history.first_due_at, duerow_history.due_at, duerow_history.started_at,
    duerow_history.finished_at, duerow_history.worker, duerow_history.error AS error
FROM duerow_history
WHERE duerow_history.id <= :last AND (coalesce(duerow_history.queue, '') IN :queues_value) AND duerow_history.outcome
    = :param_1 AND (CASE WHEN (json_type(json_extract(CASE WHEN json_valid(duerow_history.payload) THEN
    duerow_history.payload END, :param_2)) = 'INTEGER' OR json_type(json_extract(CASE WHEN
    json_valid(duerow_history.payload) THEN duerow_history.payload END, :param_2)) = 'UNSIGNED INTEGER' AND
    CAST(json_unquote(json_extract(CASE WHEN json_valid(duerow_history.payload) THEN duerow_history.payload END,
    :param_2)) AS DECIMAL(20, 0)) <= 9223372036854775807) THEN CAST(json_extract(CASE WHEN
    json_valid(duerow_history.payload) THEN duerow_history.payload END, :param_2) AS SIGNED INTEGER) END = :param_3 OR
    CASE WHEN (json_type(json_extract(CASE WHEN json_valid(duerow_history.payload) THEN duerow_history.payload END,
    :param_2)) = 'INTEGER' OR json_type(json_extract(CASE WHEN json_valid(duerow_history.payload) THEN
    duerow_history.payload END, :param_2)) = 'UNSIGNED INTEGER' AND CAST(json_unquote(json_extract(CASE WHEN
    json_valid(duerow_history.payload) THEN duerow_history.payload END, :param_2)) AS DECIMAL(20, 0)) <=
    9223372036854775807) THEN NULL WHEN (json_type(json_extract(CASE WHEN json_valid(duerow_history.payload) THEN
    duerow_history.payload END, :param_2)) = 'DOUBLE' OR json_type(json_extract(CASE WHEN
    json_valid(duerow_history.payload) THEN duerow_history.payload END, :param_2)) = 'UNSIGNED INTEGER') THEN
    CAST(json_extract(CASE WHEN json_valid(duerow_history.payload) THEN duerow_history.payload END, :param_2) AS
    DOUBLE) END = CAST(:param_4 AS DOUBLE)) AND (CASE WHEN (json_type(json_extract(CASE WHEN
    json_valid(duerow_history.error) THEN duerow_history.error END, :param_5)) = 'STRING') THEN
    json_unquote(json_extract(CASE WHEN json_valid(duerow_history.error) THEN duerow_history.error END, :param_5)) END
    COLLATE utf8mb4_0900_bin) LIKE :param_6 ESCAPE '|' AND (duerow_history.id, duerow_history.token) > (:after,
    :after_token)
ORDER BY duerow_history.id, duerow_history.token
LIMIT :limit_in
