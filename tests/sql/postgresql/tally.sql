-- Count rows of a queue of which a condition holds by a value of theirs, the first `limit_in` of them.
SELECT found.value, count(*) AS count_1
FROM (SELECT CAST(duerow_message.payload -> CAST(:param_1::VARCHAR AS TEXT) AS TEXT) AS value
FROM duerow_message
WHERE duerow_message.queue = :queue_in::VARCHAR AND ((CASE WHEN CASE WHEN (json_typeof(duerow_message.payload ->
    CAST(:param_2::VARCHAR AS TEXT)) = 'number' AND (((duerow_message.payload -> CAST(:param_2::VARCHAR AS TEXT)) #>>
    CAST('{}' AS TEXT[])) ~ '^-?[0-9]{1,19}$')) THEN CAST((duerow_message.payload -> CAST(:param_2::VARCHAR AS TEXT))
    #>> CAST('{}' AS TEXT[]) AS NUMERIC) BETWEEN -9223372036854775808 AND 9223372036854775807 ELSE false END THEN
    CAST((duerow_message.payload -> CAST(:param_2::VARCHAR AS TEXT)) #>> CAST('{}' AS TEXT[]) AS NUMERIC) END =
    :param_3::BIGINT OR CASE WHEN CASE WHEN (json_typeof(duerow_message.payload -> CAST(:param_2::VARCHAR AS TEXT)) =
    'number' AND (((duerow_message.payload -> CAST(:param_2::VARCHAR AS TEXT)) #>> CAST('{}' AS TEXT[])) ~
    '^-?[0-9]{1,19}$')) THEN CAST((duerow_message.payload -> CAST(:param_2::VARCHAR AS TEXT)) #>> CAST('{}' AS TEXT[])
    AS NUMERIC) BETWEEN -9223372036854775808 AND 9223372036854775807 ELSE false END THEN NULL WHEN
    (json_typeof(duerow_message.payload -> CAST(:param_2::VARCHAR AS TEXT)) = 'number' AND
    length((duerow_message.payload -> CAST(:param_2::VARCHAR AS TEXT)) #>> CAST('{}' AS TEXT[])) <= 400 AND
    (((duerow_message.payload -> CAST(:param_2::VARCHAR AS TEXT)) #>> CAST('{}' AS TEXT[])) ~
    '^[^eE]+([eE][-+]?[0-9]{1,3})?$')) THEN CASE WHEN (abs(CAST((duerow_message.payload -> CAST(:param_2::VARCHAR AS
    TEXT)) #>> CAST('{}' AS TEXT[]) AS NUMERIC)) > CAST(1.7976931348623157e308 AS NUMERIC)) THEN NULL WHEN
    (abs(CAST((duerow_message.payload -> CAST(:param_2::VARCHAR AS TEXT)) #>> CAST('{}' AS TEXT[]) AS NUMERIC)) <
    CAST(4.9406564584124654e-324 AS NUMERIC)) THEN CAST(0 AS DOUBLE PRECISION) ELSE CAST((duerow_message.payload ->
    CAST(:param_2::VARCHAR AS TEXT)) #>> CAST('{}' AS TEXT[]) AS DOUBLE PRECISION) END END = CAST(:param_4 AS DOUBLE
    PRECISION)) AND NOT coalesce(duerow_message.attempts > :param_5::BIGINT, false) OR (CASE WHEN
    (json_typeof(duerow_message.headers -> CAST(:param_6::VARCHAR AS TEXT)) = 'string') THEN (duerow_message.headers
    -> CAST(:param_6::VARCHAR AS TEXT)) #>> CAST('{}' AS TEXT[]) END COLLATE "C") LIKE :param_7::VARCHAR AND
    duerow_message.status IN (:param_8::VARCHAR, :param_9::VARCHAR))
LIMIT :limit_in::INTEGER) AS found GROUP BY found.value
