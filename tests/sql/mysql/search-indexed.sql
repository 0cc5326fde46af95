-- As `find`, of which a condition holds and in any order; made for one use, with the condition's
-- values.
SELECT duerow_message.id, duerow_message.queue, duerow_message.payload AS payload, duerow_message.kind,
    duerow_message.`key`, duerow_message.headers AS headers, duerow_message.`group`, duerow_message.priority,
    duerow_message.status, coalesce(duerow_message.due_at, duerow_message.behind_at) AS coalesce_1,
    duerow_message.first_due_at, duerow_message.attempts, duerow_message.token, duerow_message.leased_by,
    duerow_message.leased_until, duerow_message.created_at, duerow_message.last_attempt_at, duerow_message.last_error
    AS last_error
FROM duerow_message
WHERE duerow_message.queue = :queue_in AND duerow_message.queue = 'mail' AND
    duerow_message.`duerow_by_00d8d3_companyid_cdd0da` = CAST(:param_1 AS DOUBLE) AND (CASE WHEN
    (json_type(json_extract(CASE WHEN json_valid(duerow_message.payload) THEN duerow_message.payload END, :param_2)) =
    'INTEGER' OR json_type(json_extract(CASE WHEN json_valid(duerow_message.payload) THEN duerow_message.payload END,
    :param_2)) = 'UNSIGNED INTEGER' AND CAST(json_unquote(json_extract(CASE WHEN json_valid(duerow_message.payload)
    THEN duerow_message.payload END, :param_2)) AS DECIMAL(20, 0)) <= 9223372036854775807) THEN CAST(json_extract(CASE
    WHEN json_valid(duerow_message.payload) THEN duerow_message.payload END, :param_2) AS SIGNED INTEGER) END =
    :param_3 OR CASE WHEN (json_type(json_extract(CASE WHEN json_valid(duerow_message.payload) THEN
    duerow_message.payload END, :param_2)) = 'INTEGER' OR json_type(json_extract(CASE WHEN
    json_valid(duerow_message.payload) THEN duerow_message.payload END, :param_2)) = 'UNSIGNED INTEGER' AND
    CAST(json_unquote(json_extract(CASE WHEN json_valid(duerow_message.payload) THEN duerow_message.payload END,
    :param_2)) AS DECIMAL(20, 0)) <= 9223372036854775807) THEN NULL WHEN (json_type(json_extract(CASE WHEN
    json_valid(duerow_message.payload) THEN duerow_message.payload END, :param_2)) = 'DOUBLE' OR
    json_type(json_extract(CASE WHEN json_valid(duerow_message.payload) THEN duerow_message.payload END, :param_2)) =
    'UNSIGNED INTEGER') THEN CAST(json_extract(CASE WHEN json_valid(duerow_message.payload) THEN
    duerow_message.payload END, :param_2) AS DOUBLE) END = CAST(:param_4 AS DOUBLE)) AND
    duerow_message.`duerow_by_00d8d3_to_city_01959a` <= :param_5 AND (CASE WHEN (json_type(json_extract(CASE WHEN
    json_valid(duerow_message.payload) THEN duerow_message.payload END, :param_6)) = 'STRING') THEN
    json_unquote(json_extract(CASE WHEN json_valid(duerow_message.payload) THEN duerow_message.payload END, :param_6))
    END COLLATE utf8mb4_0900_bin) < :param_7
ORDER BY duerow_message.id ASC
LIMIT :limit_in
