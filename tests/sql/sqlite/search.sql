-- As `find`, of which a condition holds and in any order; made for one use, with the condition's
-- values.
SELECT duerow_message.id, duerow_message.queue, duerow_message.payload AS payload, duerow_message.kind,
    duerow_message."key", duerow_message.headers AS headers, duerow_message."group", duerow_message.priority,
    duerow_message.status, coalesce(duerow_message.due_at, duerow_message.behind_at) AS coalesce_1,
    duerow_message.first_due_at, duerow_message.attempts, duerow_message.token, duerow_message.leased_by,
    duerow_message.leased_until, duerow_message.created_at, duerow_message.last_attempt_at, duerow_message.last_error
    AS last_error
FROM duerow_message
WHERE duerow_message.queue = :queue_in AND ((CASE WHEN (json_type(CASE WHEN (json_valid(duerow_message.payload) = 1)
    THEN duerow_message.payload END, :param_1) IN ('integer', 'real') AND typeof(json_extract(CASE WHEN
    (json_valid(duerow_message.payload) = 1) THEN duerow_message.payload END, :param_1)) = 'integer') THEN
    json_extract(CASE WHEN (json_valid(duerow_message.payload) = 1) THEN duerow_message.payload END, :param_1) END =
    :param_2 OR CASE WHEN (json_type(CASE WHEN (json_valid(duerow_message.payload) = 1) THEN duerow_message.payload
    END, :param_1) IN ('integer', 'real') AND typeof(json_extract(CASE WHEN (json_valid(duerow_message.payload) = 1)
    THEN duerow_message.payload END, :param_1)) = 'real' AND json_extract(CASE WHEN
    (json_valid(duerow_message.payload) = 1) THEN duerow_message.payload END, :param_1) > -9e999 AND json_extract(CASE
    WHEN (json_valid(duerow_message.payload) = 1) THEN duerow_message.payload END, :param_1) < 9e999) THEN
    json_extract(CASE WHEN (json_valid(duerow_message.payload) = 1) THEN duerow_message.payload END, :param_1) END =
    json_extract(:param_3, '$')) AND coalesce(duerow_message.attempts > :param_4, 0) = 0 OR (CASE WHEN (json_type(CASE
    WHEN (json_valid(duerow_message.headers) = 1) THEN duerow_message.headers END, :param_5) = 'text') THEN
    json_extract(CASE WHEN (json_valid(duerow_message.headers) = 1) THEN duerow_message.headers END, :param_5) END
    GLOB :param_6) AND duerow_message.status IN (:param_7, :param_8)) AND (duerow_message.priority < :param_9 AND
    duerow_message.id != :param_10 OR duerow_message.priority = :param_9 AND duerow_message.id < :param_10 OR
    duerow_message.priority IS NULL)
ORDER BY duerow_message.priority DESC NULLS LAST, duerow_message.id DESC
LIMIT :limit_in OFFSET :param_11
