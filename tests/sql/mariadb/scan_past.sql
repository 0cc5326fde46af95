-- Read turns of many queues in the order of their ids and tokens: `queues`; with `descending`
-- downwards.
SELECT duerow_history.id, duerow_history.token, duerow_history.queue, duerow_history.`key`, duerow_history.kind,
    duerow_history.payload AS payload, duerow_history.headers AS headers, duerow_history.`group`,
    duerow_history.priority, duerow_history.outcome, duerow_history.moved_to, duerow_history.attempts,
    duerow_history.created_at, duerow_history.first_due_at, duerow_history.due_at, duerow_history.started_at,
    duerow_history.finished_at, duerow_history.worker, duerow_history.error AS error
FROM duerow_history
WHERE duerow_history.id <= :last AND (coalesce(duerow_history.queue, '') IN :queues_value) AND duerow_history.outcome
    = :param_1 AND (CASE WHEN CASE WHEN (json_type(json_extract(duerow_history.payload, :param_2)) IN ('INTEGER',
    'DOUBLE') AND (json_extract(duerow_history.payload, :param_2) REGEXP '^-?[0-9]{1,19}$')) THEN
    CAST(json_extract(duerow_history.payload, :param_2) AS DECIMAL(20, 0)) BETWEEN -9223372036854775808 AND
    9223372036854775807 ELSE false END THEN CAST(json_extract(duerow_history.payload, :param_2) AS SIGNED INTEGER) END
    = :param_3 OR CASE WHEN CASE WHEN (json_type(json_extract(duerow_history.payload, :param_2)) IN ('INTEGER',
    'DOUBLE') AND (json_extract(duerow_history.payload, :param_2) REGEXP '^-?[0-9]{1,19}$')) THEN
    CAST(json_extract(duerow_history.payload, :param_2) AS DECIMAL(20, 0)) BETWEEN -9223372036854775808 AND
    9223372036854775807 ELSE false END THEN NULL WHEN (json_type(json_extract(duerow_history.payload, :param_2)) IN
    ('INTEGER', 'DOUBLE') AND (abs(CAST(json_extract(duerow_history.payload, :param_2) AS DOUBLE)) <
    1.7976931348623157e308 OR json_extract(duerow_history.payload, :param_2) IN ('1.7976931348623157e308',
    '-1.7976931348623157e308'))) THEN CAST(json_extract(duerow_history.payload, :param_2) AS DOUBLE) END =
    CAST(:param_4 AS DOUBLE)) AND (CASE WHEN (json_type(json_extract(duerow_history.error, :param_5)) = 'STRING') THEN
    json_unquote(json_extract(duerow_history.error, :param_5)) END COLLATE utf8mb4_nopad_bin) LIKE :param_6 ESCAPE '|'
    AND (duerow_history.id, duerow_history.token) > (:after, :after_token)
ORDER BY duerow_history.id, duerow_history.token
LIMIT :limit_in
