-- Count rows of a queue of which a condition holds by a value of theirs, the first `limit_in` of them.
SELECT found.value, count(*) AS count_1
FROM (SELECT json_extract(duerow_message.payload, :param_1) AS value
FROM duerow_message
WHERE duerow_message.queue = :queue_in AND ((CASE WHEN CASE WHEN (json_type(json_extract(duerow_message.payload,
    :param_2)) IN ('INTEGER', 'DOUBLE') AND (json_extract(duerow_message.payload, :param_2) REGEXP '^-?[0-9]{1,19}$'))
    THEN CAST(json_extract(duerow_message.payload, :param_2) AS DECIMAL(20, 0)) BETWEEN -9223372036854775808 AND
    9223372036854775807 ELSE false END THEN CAST(json_extract(duerow_message.payload, :param_2) AS SIGNED INTEGER) END
    = :param_3 OR CASE WHEN CASE WHEN (json_type(json_extract(duerow_message.payload, :param_2)) IN ('INTEGER',
    'DOUBLE') AND (json_extract(duerow_message.payload, :param_2) REGEXP '^-?[0-9]{1,19}$')) THEN
    CAST(json_extract(duerow_message.payload, :param_2) AS DECIMAL(20, 0)) BETWEEN -9223372036854775808 AND
    9223372036854775807 ELSE false END THEN NULL WHEN (json_type(json_extract(duerow_message.payload, :param_2)) IN
    ('INTEGER', 'DOUBLE') AND (abs(CAST(json_extract(duerow_message.payload, :param_2) AS DOUBLE)) <
    1.7976931348623157e308 OR json_extract(duerow_message.payload, :param_2) IN ('1.7976931348623157e308',
    '-1.7976931348623157e308'))) THEN CAST(json_extract(duerow_message.payload, :param_2) AS DOUBLE) END =
    CAST(:param_4 AS DOUBLE)) AND coalesce(duerow_message.attempts > :param_5, false) = 0 OR (CASE WHEN
    (json_type(json_extract(duerow_message.headers, :param_6)) = 'STRING') THEN
    json_unquote(json_extract(duerow_message.headers, :param_6)) END COLLATE utf8mb4_nopad_bin) LIKE :param_7 ESCAPE
    '|' AND duerow_message.status IN (:param_8, :param_9))
LIMIT :limit_in) AS found GROUP BY found.value
