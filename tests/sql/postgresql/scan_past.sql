-- Read turns of many queues in the order of their ids and tokens: `queues`; with `descending`
-- downwards.
SELECT duerow_history.id, duerow_history.token, duerow_history.queue, duerow_history.key, duerow_history.kind,
    CAST(duerow_history.payload AS TEXT) AS payload, CAST(duerow_history.headers AS TEXT) AS headers,
    duerow_history."group", duerow_history.priority, duerow_history.outcome, duerow_history.moved_to,
    duerow_history.attempts, duerow_history.created_at, duerow_history.first_due_at, duerow_history.due_at,
    duerow_history.started_at, duerow_history.finished_at, duerow_history.worker, CAST(duerow_history.error AS TEXT)
    AS error
FROM duerow_history
WHERE duerow_history.id <= :last::BIGINT AND coalesce(duerow_history.queue, '') = ANY (CAST((SELECT
    CAST(CAST(:queues_value::VARCHAR AS TEXT) AS TEXT[]) AS anon_1) AS TEXT[])) AND duerow_history.outcome =
    :param_1::VARCHAR AND (CASE WHEN CASE WHEN (json_typeof(duerow_history.payload -> CAST(:param_2::VARCHAR AS TEXT))
    = 'number' AND (((duerow_history.payload -> CAST(:param_2::VARCHAR AS TEXT)) #>> CAST('{}' AS TEXT[])) ~
    '^-?[0-9]{1,19}$')) THEN CAST((duerow_history.payload -> CAST(:param_2::VARCHAR AS TEXT)) #>> CAST('{}' AS TEXT[])
    AS NUMERIC) BETWEEN -9223372036854775808 AND 9223372036854775807 ELSE false END THEN CAST((duerow_history.payload
    -> CAST(:param_2::VARCHAR AS TEXT)) #>> CAST('{}' AS TEXT[]) AS NUMERIC) END = :param_3::BIGINT OR CASE WHEN CASE
    WHEN (json_typeof(duerow_history.payload -> CAST(:param_2::VARCHAR AS TEXT)) = 'number' AND
    (((duerow_history.payload -> CAST(:param_2::VARCHAR AS TEXT)) #>> CAST('{}' AS TEXT[])) ~ '^-?[0-9]{1,19}$')) THEN
    CAST((duerow_history.payload -> CAST(:param_2::VARCHAR AS TEXT)) #>> CAST('{}' AS TEXT[]) AS NUMERIC) BETWEEN
    -9223372036854775808 AND 9223372036854775807 ELSE false END THEN NULL WHEN (json_typeof(duerow_history.payload ->
    CAST(:param_2::VARCHAR AS TEXT)) = 'number' AND length((duerow_history.payload -> CAST(:param_2::VARCHAR AS TEXT))
    #>> CAST('{}' AS TEXT[])) <= 400 AND (((duerow_history.payload -> CAST(:param_2::VARCHAR AS TEXT)) #>> CAST('{}'
    AS TEXT[])) ~ '^[^eE]+([eE][-+]?[0-9]{1,3})?$')) THEN CASE WHEN (abs(CAST((duerow_history.payload ->
    CAST(:param_2::VARCHAR AS TEXT)) #>> CAST('{}' AS TEXT[]) AS NUMERIC)) > CAST(1.7976931348623157e308 AS NUMERIC))
    THEN NULL WHEN (abs(CAST((duerow_history.payload -> CAST(:param_2::VARCHAR AS TEXT)) #>> CAST('{}' AS TEXT[]) AS
    NUMERIC)) < CAST(4.9406564584124654e-324 AS NUMERIC)) THEN CAST(0 AS DOUBLE PRECISION) ELSE
    CAST((duerow_history.payload -> CAST(:param_2::VARCHAR AS TEXT)) #>> CAST('{}' AS TEXT[]) AS DOUBLE PRECISION) END
    END = CAST(:param_4 AS DOUBLE PRECISION)) AND (CASE WHEN (json_typeof(duerow_history.error ->
    CAST(:param_5::VARCHAR AS TEXT)) = 'string') THEN (duerow_history.error -> CAST(:param_5::VARCHAR AS TEXT)) #>>
    CAST('{}' AS TEXT[]) END COLLATE "C") LIKE :param_6::VARCHAR AND (duerow_history.id, duerow_history.token) >
    (:after::BIGINT, :after_token::BIGINT)
ORDER BY duerow_history.id, duerow_history.token
LIMIT :limit_in::INTEGER
