-- As `find`, of which a condition holds and in any order; made for one use, with the condition's
-- values.
SELECT duerow_message.id, duerow_message.queue, CAST(duerow_message.payload AS TEXT) AS payload, duerow_message.kind,
    duerow_message.key, CAST(duerow_message.headers AS TEXT) AS headers, duerow_message."group",
    duerow_message.priority, duerow_message.status, coalesce(duerow_message.due_at, duerow_message.behind_at) AS
    coalesce_1, duerow_message.first_due_at, duerow_message.attempts, duerow_message.token, duerow_message.leased_by,
    duerow_message.leased_until, duerow_message.created_at, duerow_message.last_attempt_at,
    CAST(duerow_message.last_error AS TEXT) AS last_error
FROM duerow_message
WHERE duerow_message.queue = :queue_in::VARCHAR AND duerow_message.queue = 'mail' AND
    coalesce(CAST(SUBSTRING(CAST(duerow_message.payload -> CAST('companyId' AS TEXT) AS TEXT)
FROM '^(-?[0-9]{1,15}([.][0-9]{1,15})?)$') AS DOUBLE PRECISION), CASE WHEN (json_typeof(duerow_message.payload ->
    CAST('companyId' AS TEXT)) = 'number' AND length((duerow_message.payload -> CAST('companyId' AS TEXT)) #>>
    CAST('{}' AS TEXT[])) <= 400 AND (((duerow_message.payload -> CAST('companyId' AS TEXT)) #>> CAST('{}' AS TEXT[]))
    ~ '^[^eE]+([eE][-+]?[0-9]{1,3})?$')) THEN CASE WHEN (abs(CAST((duerow_message.payload -> CAST('companyId' AS
    TEXT)) #>> CAST('{}' AS TEXT[]) AS NUMERIC)) > CAST(1.7976931348623157e308 AS NUMERIC)) THEN NULL WHEN
    (abs(CAST((duerow_message.payload -> CAST('companyId' AS TEXT)) #>> CAST('{}' AS TEXT[]) AS NUMERIC)) <
    CAST(4.9406564584124654e-324 AS NUMERIC)) THEN CAST(0 AS DOUBLE PRECISION) ELSE CAST((duerow_message.payload ->
    CAST('companyId' AS TEXT)) #>> CAST('{}' AS TEXT[]) AS DOUBLE PRECISION) END END) = CAST(:param_1 AS DOUBLE
    PRECISION) AND (CASE WHEN CASE WHEN (json_typeof(duerow_message.payload -> CAST(:param_2::VARCHAR AS TEXT)) =
    'number' AND (((duerow_message.payload -> CAST(:param_2::VARCHAR AS TEXT)) #>> CAST('{}' AS TEXT[])) ~
    '^-?[0-9]{1,19}$')) THEN CAST((duerow_message.payload -> CAST(:param_2::VARCHAR AS TEXT)) #>> CAST('{}' AS TEXT[])
    AS NUMERIC) BETWEEN -9223372036854775808 AND 9223372036854775807 ELSE false END THEN CAST((duerow_message.payload
    -> CAST(:param_2::VARCHAR AS TEXT)) #>> CAST('{}' AS TEXT[]) AS NUMERIC) END = :param_3::BIGINT OR CASE WHEN CASE
    WHEN (json_typeof(duerow_message.payload -> CAST(:param_2::VARCHAR AS TEXT)) = 'number' AND
    (((duerow_message.payload -> CAST(:param_2::VARCHAR AS TEXT)) #>> CAST('{}' AS TEXT[])) ~ '^-?[0-9]{1,19}$')) THEN
    CAST((duerow_message.payload -> CAST(:param_2::VARCHAR AS TEXT)) #>> CAST('{}' AS TEXT[]) AS NUMERIC) BETWEEN
    -9223372036854775808 AND 9223372036854775807 ELSE false END THEN NULL WHEN (json_typeof(duerow_message.payload ->
    CAST(:param_2::VARCHAR AS TEXT)) = 'number' AND length((duerow_message.payload -> CAST(:param_2::VARCHAR AS TEXT))
    #>> CAST('{}' AS TEXT[])) <= 400 AND (((duerow_message.payload -> CAST(:param_2::VARCHAR AS TEXT)) #>> CAST('{}'
    AS TEXT[])) ~ '^[^eE]+([eE][-+]?[0-9]{1,3})?$')) THEN CASE WHEN (abs(CAST((duerow_message.payload ->
    CAST(:param_2::VARCHAR AS TEXT)) #>> CAST('{}' AS TEXT[]) AS NUMERIC)) > CAST(1.7976931348623157e308 AS NUMERIC))
    THEN NULL WHEN (abs(CAST((duerow_message.payload -> CAST(:param_2::VARCHAR AS TEXT)) #>> CAST('{}' AS TEXT[]) AS
    NUMERIC)) < CAST(4.9406564584124654e-324 AS NUMERIC)) THEN CAST(0 AS DOUBLE PRECISION) ELSE
    CAST((duerow_message.payload -> CAST(:param_2::VARCHAR AS TEXT)) #>> CAST('{}' AS TEXT[]) AS DOUBLE PRECISION) END
    END = CAST(:param_4 AS DOUBLE PRECISION)) AND (CASE WHEN (json_typeof((duerow_message.payload -> CAST('to' AS
    TEXT)) -> CAST('city' AS TEXT)) = 'string') THEN left(((duerow_message.payload -> CAST('to' AS TEXT)) ->
    CAST('city' AS TEXT)) #>> CAST('{}' AS TEXT[]), 200) END COLLATE "C") <= :param_5::VARCHAR AND (CASE WHEN
    (json_typeof(json_extract_path(duerow_message.payload, CAST(:param_6::VARCHAR AS TEXT), CAST(:param_7::VARCHAR AS
    TEXT))) = 'string') THEN json_extract_path(duerow_message.payload, CAST(:param_6::VARCHAR AS TEXT),
    CAST(:param_7::VARCHAR AS TEXT)) #>> CAST('{}' AS TEXT[]) END COLLATE "C") < :param_8::VARCHAR
ORDER BY duerow_message.id ASC
LIMIT :limit_in::INTEGER
