-- As `find`, of which a condition holds and in any order; made for one use, with the condition's
-- values.
SELECT duerow_message.id, duerow_message.queue, duerow_message.payload AS payload, duerow_message.kind,
    duerow_message.`key`, duerow_message.headers AS headers, duerow_message.`group`, duerow_message.priority,
    duerow_message.status, coalesce(duerow_message.due_at, duerow_message.behind_at) AS coalesce_1,
    duerow_message.first_due_at, duerow_message.attempts, duerow_message.token, duerow_message.leased_by,
    duerow_message.leased_until, duerow_message.created_at, duerow_message.last_attempt_at, duerow_message.last_error
    AS last_error
FROM duerow_message
WHERE duerow_message.queue = :queue_in AND ((CASE WHEN CASE WHEN (json_type(json_extract(duerow_message.payload,
    :param_1)) IN ('INTEGER', 'DOUBLE') AND (json_extract(duerow_message.payload, :param_1) REGEXP '^-?[0-9]{1,19}$'))
    THEN CAST(json_extract(duerow_message.payload, :param_1) AS DECIMAL(20, 0)) BETWEEN -9223372036854775808 AND
    9223372036854775807 ELSE false END THEN CAST(json_extract(duerow_message.payload, :param_1) AS SIGNED INTEGER) END
    = :param_2 OR CASE WHEN CASE WHEN (json_type(json_extract(duerow_message.payload, :param_1)) IN ('INTEGER',
    'DOUBLE') AND (json_extract(duerow_message.payload, :param_1) REGEXP '^-?[0-9]{1,19}$')) THEN
    CAST(json_extract(duerow_message.payload, :param_1) AS DECIMAL(20, 0)) BETWEEN -9223372036854775808 AND
    9223372036854775807 ELSE false END THEN NULL WHEN (json_type(json_extract(duerow_message.payload, :param_1)) IN
    ('INTEGER', 'DOUBLE') AND (abs(CAST(json_extract(duerow_message.payload, :param_1) AS DOUBLE)) <
    1.7976931348623157e308 OR json_extract(duerow_message.payload, :param_1) IN ('1.7976931348623157e308',
    '-1.7976931348623157e308'))) THEN CAST(json_extract(duerow_message.payload, :param_1) AS DOUBLE) END =
    CAST(:param_3 AS DOUBLE)) AND coalesce(duerow_message.attempts > :param_4, false) = 0 OR (CASE WHEN
    (json_type(json_extract(duerow_message.headers, :param_5)) = 'STRING') THEN
    json_unquote(json_extract(duerow_message.headers, :param_5)) END COLLATE utf8mb4_nopad_bin) LIKE :param_6 ESCAPE
    '|' AND duerow_message.status IN (:param_7, :param_8)) AND (duerow_message.priority < :param_9 AND
    duerow_message.id != :param_10 OR duerow_message.priority = :param_9 AND duerow_message.id < :param_10 OR
    duerow_message.priority IS NULL)
ORDER BY duerow_message.priority DESC, duerow_message.id DESC
LIMIT :limit_in
FOR UPDATE
