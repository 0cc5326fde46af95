-- As `find`, of which a condition holds and in any order; made for one use, with the condition's
-- values.
SELECT duerow_message.id, duerow_message.queue, duerow_message.payload AS payload, duerow_message.kind,
    duerow_message.`key`, duerow_message.headers AS headers, duerow_message.`group`, duerow_message.priority,
    duerow_message.status, coalesce(duerow_message.due_at, duerow_message.behind_at) AS coalesce_1,
    duerow_message.first_due_at, duerow_message.attempts, duerow_message.token, duerow_message.leased_by,
    duerow_message.leased_until, duerow_message.created_at, duerow_message.last_attempt_at, duerow_message.last_error
    AS last_error
FROM duerow_message
WHERE duerow_message.queue = :queue_in AND ((CASE WHEN (json_type(json_extract(CASE WHEN
    json_valid(duerow_message.payload) THEN duerow_message.payload END, :param_1)) = 'INTEGER' OR
    json_type(json_extract(CASE WHEN json_valid(duerow_message.payload) THEN duerow_message.payload END, :param_1)) =
    'UNSIGNED INTEGER' AND CAST(json_unquote(json_extract(CASE WHEN json_valid(duerow_message.payload) THEN
    duerow_message.payload END, :param_1)) AS DECIMAL(20, 0)) <= 9223372036854775807) THEN CAST(json_extract(CASE WHEN
    json_valid(duerow_message.payload) THEN duerow_message.payload END, :param_1) AS SIGNED INTEGER) END = :param_2 OR
    CASE WHEN (json_type(json_extract(CASE WHEN json_valid(duerow_message.payload) THEN duerow_message.payload END,
    :param_1)) = 'INTEGER' OR json_type(json_extract(CASE WHEN json_valid(duerow_message.payload) THEN
    duerow_message.payload END, :param_1)) = 'UNSIGNED INTEGER' AND CAST(json_unquote(json_extract(CASE WHEN
    json_valid(duerow_message.payload) THEN duerow_message.payload END, :param_1)) AS DECIMAL(20, 0)) <=
    9223372036854775807) THEN NULL WHEN (json_type(json_extract(CASE WHEN json_valid(duerow_message.payload) THEN
    duerow_message.payload END, :param_1)) = 'DOUBLE' OR json_type(json_extract(CASE WHEN
    json_valid(duerow_message.payload) THEN duerow_message.payload END, :param_1)) = 'UNSIGNED INTEGER') THEN
    CAST(json_extract(CASE WHEN json_valid(duerow_message.payload) THEN duerow_message.payload END, :param_1) AS
    DOUBLE) END = CAST(:param_3 AS DOUBLE)) AND coalesce(duerow_message.attempts > :param_4, false) = 0 OR (CASE WHEN
    (json_type(json_extract(CASE WHEN json_valid(duerow_message.headers) THEN duerow_message.headers END, :param_5)) =
    'STRING') THEN json_unquote(json_extract(CASE WHEN json_valid(duerow_message.headers) THEN duerow_message.headers
    END, :param_5)) END COLLATE utf8mb4_0900_bin) LIKE :param_6 ESCAPE '|' AND duerow_message.status IN (:param_7,
    :param_8)) AND (duerow_message.priority < :param_9 AND duerow_message.id != :param_10 OR duerow_message.priority =
    :param_9 AND duerow_message.id < :param_10 OR duerow_message.priority IS NULL)
ORDER BY duerow_message.priority DESC, duerow_message.id DESC
LIMIT :limit_in
FOR UPDATE OF duerow_message
