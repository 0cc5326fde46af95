-- Count rows of a queue of which a condition holds by a value of theirs, the first `limit_in` of them.
SELECT found.value, count(*) AS count_1
FROM (SELECT CAST(json_extract(CASE WHEN json_valid(duerow_message.payload) THEN duerow_message.payload END, :param_1)
    AS CHAR CHARACTER
SET utf8mb4) AS value
FROM duerow_message
WHERE duerow_message.queue = :queue_in AND ((CASE WHEN (json_type(json_extract(CASE WHEN
    json_valid(duerow_message.payload) THEN duerow_message.payload END, :param_2)) = 'INTEGER' OR
    json_type(json_extract(CASE WHEN json_valid(duerow_message.payload) THEN duerow_message.payload END, :param_2)) =
    'UNSIGNED INTEGER' AND CAST(json_unquote(json_extract(CASE WHEN json_valid(duerow_message.payload) THEN
    duerow_message.payload END, :param_2)) AS DECIMAL(20, 0)) <= 9223372036854775807) THEN CAST(json_extract(CASE WHEN
    json_valid(duerow_message.payload) THEN duerow_message.payload END, :param_2) AS SIGNED INTEGER) END = :param_3 OR
    CASE WHEN (json_type(json_extract(CASE WHEN json_valid(duerow_message.payload) THEN duerow_message.payload END,
    :param_2)) = 'INTEGER' OR json_type(json_extract(CASE WHEN json_valid(duerow_message.payload) THEN
    duerow_message.payload END, :param_2)) = 'UNSIGNED INTEGER' AND CAST(json_unquote(json_extract(CASE WHEN
    json_valid(duerow_message.payload) THEN duerow_message.payload END, :param_2)) AS DECIMAL(20, 0)) <=
    9223372036854775807) THEN NULL WHEN (json_type(json_extract(CASE WHEN json_valid(duerow_message.payload) THEN
    duerow_message.payload END, :param_2)) = 'DOUBLE' OR json_type(json_extract(CASE WHEN
    json_valid(duerow_message.payload) THEN duerow_message.payload END, :param_2)) = 'UNSIGNED INTEGER') THEN
    CAST(json_extract(CASE WHEN json_valid(duerow_message.payload) THEN duerow_message.payload END, :param_2) AS
    DOUBLE) END = CAST(:param_4 AS DOUBLE)) AND coalesce(duerow_message.attempts > :param_5, false) = 0 OR (CASE WHEN
    (json_type(json_extract(CASE WHEN json_valid(duerow_message.headers) THEN duerow_message.headers END, :param_6)) =
    'STRING') THEN json_unquote(json_extract(CASE WHEN json_valid(duerow_message.headers) THEN duerow_message.headers
    END, :param_6)) END COLLATE utf8mb4_0900_bin) LIKE :param_7 ESCAPE '|' AND duerow_message.status IN (:param_8,
    :param_9))
LIMIT :limit_in) AS found GROUP BY found.value
