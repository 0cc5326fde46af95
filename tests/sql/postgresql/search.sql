-- As `find`, of which a condition holds and in any order; made for one use, with the condition's
-- values.
SELECT duerow_message.id, duerow_message.queue, CAST(duerow_message.payload AS TEXT) AS payload, duerow_message.kind,
    duerow_message.key, CAST(duerow_message.headers AS TEXT) AS headers, duerow_message."group",
    duerow_message.priority, duerow_message.status, coalesce(duerow_message.due_at, duerow_message.behind_at) AS
    coalesce_1, duerow_message.first_due_at, duerow_message.attempts, duerow_message.token, duerow_message.leased_by,
    duerow_message.leased_until, duerow_message.created_at, duerow_message.last_attempt_at,
    CAST(duerow_message.last_error AS TEXT) AS last_error
FROM duerow_message
WHERE duerow_message.queue = :queue_in::VARCHAR AND ((CASE WHEN CASE WHEN (json_typeof(duerow_message.payload ->
    CAST(:param_1::VARCHAR AS TEXT)) = 'number' AND (((duerow_message.payload -> CAST(:param_1::VARCHAR AS TEXT)) #>>
    CAST('{}' AS TEXT[])) ~ '^-?[0-9]{1,19}$')) THEN CAST((duerow_message.payload -> CAST(:param_1::VARCHAR AS TEXT))
    #>> CAST('{}' AS TEXT[]) AS NUMERIC) BETWEEN -9223372036854775808 AND 9223372036854775807 ELSE false END THEN
    CAST((duerow_message.payload -> CAST(:param_1::VARCHAR AS TEXT)) #>> CAST('{}' AS TEXT[]) AS NUMERIC) END =
    :param_2::BIGINT OR CASE WHEN CASE WHEN (json_typeof(duerow_message.payload -> CAST(:param_1::VARCHAR AS TEXT)) =
    'number' AND (((duerow_message.payload -> CAST(:param_1::VARCHAR AS TEXT)) #>> CAST('{}' AS TEXT[])) ~
    '^-?[0-9]{1,19}$')) THEN CAST((duerow_message.payload -> CAST(:param_1::VARCHAR AS TEXT)) #>> CAST('{}' AS TEXT[])
    AS NUMERIC) BETWEEN -9223372036854775808 AND 9223372036854775807 ELSE false END THEN NULL WHEN
    (json_typeof(duerow_message.payload -> CAST(:param_1::VARCHAR AS TEXT)) = 'number' AND
    length((duerow_message.payload -> CAST(:param_1::VARCHAR AS TEXT)) #>> CAST('{}' AS TEXT[])) <= 400 AND
    (((duerow_message.payload -> CAST(:param_1::VARCHAR AS TEXT)) #>> CAST('{}' AS TEXT[])) ~
    '^[^eE]+([eE][-+]?[0-9]{1,3})?$')) THEN CASE WHEN (abs(CAST((duerow_message.payload -> CAST(:param_1::VARCHAR AS
    TEXT)) #>> CAST('{}' AS TEXT[]) AS NUMERIC)) > CAST(1.7976931348623157e308 AS NUMERIC)) THEN NULL WHEN
    (abs(CAST((duerow_message.payload -> CAST(:param_1::VARCHAR AS TEXT)) #>> CAST('{}' AS TEXT[]) AS NUMERIC)) <
    CAST(4.9406564584124654e-324 AS NUMERIC)) THEN CAST(0 AS DOUBLE PRECISION) ELSE CAST((duerow_message.payload ->
    CAST(:param_1::VARCHAR AS TEXT)) #>> CAST('{}' AS TEXT[]) AS DOUBLE PRECISION) END END = CAST(:param_3 AS DOUBLE
    PRECISION)) AND NOT coalesce(duerow_message.attempts > :param_4::BIGINT, false) OR (CASE WHEN
    (json_typeof(duerow_message.headers -> CAST(:param_5::VARCHAR AS TEXT)) = 'string') THEN (duerow_message.headers
    -> CAST(:param_5::VARCHAR AS TEXT)) #>> CAST('{}' AS TEXT[]) END COLLATE "C") LIKE :param_6::VARCHAR AND
    duerow_message.status IN (:param_7::VARCHAR, :param_8::VARCHAR)) AND (duerow_message.priority < :param_9::BIGINT
    AND duerow_message.id != :param_10::BIGINT OR duerow_message.priority = :param_9::BIGINT AND duerow_message.id <
    :param_10::BIGINT OR duerow_message.priority IS NULL)
ORDER BY duerow_message.priority DESC NULLS LAST, duerow_message.id DESC
LIMIT :limit_in::INTEGER
FOR UPDATE OF duerow_message
