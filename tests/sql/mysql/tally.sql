-- Count rows of a queue of which a condition holds by a value of theirs, the first `limit_in` of them.
SELECT found.value, count(*) AS count_1
FROM (SELECT CAST(json_extract(duerow_message.payload, :param_1) AS CHAR CHARACTER
SET utf8mb4) AS value
FROM duerow_message
WHERE duerow_message.queue = :queue_in AND ((CASE WHEN (json_type(json_extract(duerow_message.payload, :param_2)) =
    'INTEGER') THEN CAST(json_extract(duerow_message.payload, :param_2) AS SIGNED INTEGER) END = :param_3 OR CASE WHEN
    (json_type(json_extract(duerow_message.payload, :param_2)) IN ('DOUBLE', 'UNSIGNED INTEGER')) THEN
    CAST(json_extract(duerow_message.payload, :param_2) AS DOUBLE) END = CAST(:param_4 AS DOUBLE)) AND
    coalesce(duerow_message.attempts > :param_5, false) = 0 OR (CASE WHEN
    (json_type(json_extract(duerow_message.headers, :param_6)) = 'STRING') THEN
    json_unquote(json_extract(duerow_message.headers, :param_6)) END COLLATE utf8mb4_0900_bin) LIKE :param_7 AND
    duerow_message.status IN (:param_8, :param_9))
LIMIT :limit_in) AS found GROUP BY found.value
