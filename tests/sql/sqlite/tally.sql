-- Count rows of a queue of which a condition holds by a value of theirs, the first `limit_in` of them.
SELECT found.value, count(*) AS count_1
FROM (SELECT json_extract(CASE WHEN (json_valid(duerow_message.payload) = 1) THEN duerow_message.payload END,
    :param_1, :param_1) AS value
FROM duerow_message
WHERE duerow_message.queue = :queue_in AND ((CASE WHEN (json_type(CASE WHEN (json_valid(duerow_message.payload) = 1)
    THEN duerow_message.payload END, :param_2) IN ('integer', 'real') AND typeof(json_extract(CASE WHEN
    (json_valid(duerow_message.payload) = 1) THEN duerow_message.payload END, :param_2)) = 'integer') THEN
    json_extract(CASE WHEN (json_valid(duerow_message.payload) = 1) THEN duerow_message.payload END, :param_2) END =
    :param_3 OR CASE WHEN (json_type(CASE WHEN (json_valid(duerow_message.payload) = 1) THEN duerow_message.payload
    END, :param_2) IN ('integer', 'real') AND typeof(json_extract(CASE WHEN (json_valid(duerow_message.payload) = 1)
    THEN duerow_message.payload END, :param_2)) = 'real' AND json_extract(CASE WHEN
    (json_valid(duerow_message.payload) = 1) THEN duerow_message.payload END, :param_2) > -9e999 AND json_extract(CASE
    WHEN (json_valid(duerow_message.payload) = 1) THEN duerow_message.payload END, :param_2) < 9e999) THEN
    json_extract(CASE WHEN (json_valid(duerow_message.payload) = 1) THEN duerow_message.payload END, :param_2) END =
    json_extract(:param_4, '$')) AND coalesce(duerow_message.attempts > :param_5, 0) = 0 OR (CASE WHEN (json_type(CASE
    WHEN (json_valid(duerow_message.headers) = 1) THEN duerow_message.headers END, :param_6) = 'text') THEN
    json_extract(CASE WHEN (json_valid(duerow_message.headers) = 1) THEN duerow_message.headers END, :param_6) END
    GLOB :param_7) AND duerow_message.status IN (:param_8, :param_9))
LIMIT :limit_in OFFSET :param_10) AS found GROUP BY found.value
