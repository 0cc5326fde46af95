-- Read messages of many queues in the order of their ids, which alone serves it: `queues`, `statuses`.
SELECT duerow_message.id, duerow_message.queue, duerow_message.payload AS payload, duerow_message.kind,
    duerow_message."key", duerow_message.headers AS headers, duerow_message."group", duerow_message.priority,
    duerow_message.status, coalesce(duerow_message.due_at, duerow_message.behind_at) AS coalesce_1,
    duerow_message.first_due_at, duerow_message.attempts, duerow_message.token, duerow_message.leased_by,
    duerow_message.leased_until, duerow_message.created_at, duerow_message.last_attempt_at, duerow_message.last_error
    AS last_error
FROM duerow_message
WHERE coalesce(duerow_message.queue, '') IN (SELECT queues.value
FROM (SELECT queues_rows.value AS value
FROM json_each(:queues) AS queues_rows) AS queues) AND coalesce(duerow_message.status, '') IN (SELECT statuses.value
FROM (SELECT statuses_rows.value AS value
FROM json_each(:statuses) AS statuses_rows) AS statuses) AND ((CASE WHEN (json_type(CASE WHEN
    (json_valid(duerow_message.payload) = 1) THEN duerow_message.payload END, :param_1) IN ('integer', 'real') AND
    typeof(json_extract(CASE WHEN (json_valid(duerow_message.payload) = 1) THEN duerow_message.payload END, :param_1))
    = 'integer') THEN json_extract(CASE WHEN (json_valid(duerow_message.payload) = 1) THEN duerow_message.payload END,
    :param_1) END = :param_2 OR CASE WHEN (json_type(CASE WHEN (json_valid(duerow_message.payload) = 1) THEN
    duerow_message.payload END, :param_1) IN ('integer', 'real') AND typeof(json_extract(CASE WHEN
    (json_valid(duerow_message.payload) = 1) THEN duerow_message.payload END, :param_1)) = 'real' AND
    json_extract(CASE WHEN (json_valid(duerow_message.payload) = 1) THEN duerow_message.payload END, :param_1) >
    -9e999 AND json_extract(CASE WHEN (json_valid(duerow_message.payload) = 1) THEN duerow_message.payload END,
    :param_1) < 9e999) THEN json_extract(CASE WHEN (json_valid(duerow_message.payload) = 1) THEN
    duerow_message.payload END, :param_1) END = json_extract(:param_3, '$')) AND coalesce(duerow_message.attempts >
    :param_4, 0) = 0 OR (CASE WHEN (json_type(CASE WHEN (json_valid(duerow_message.headers) = 1) THEN
    duerow_message.headers END, :param_5) = 'text') THEN json_extract(CASE WHEN (json_valid(duerow_message.headers) =
    1) THEN duerow_message.headers END, :param_5) END GLOB :param_6) AND duerow_message.status IN (:param_7,
    :param_8)) AND duerow_message.id <= :last AND duerow_message.id > :after
ORDER BY duerow_message.id
LIMIT :limit_in OFFSET :param_9
