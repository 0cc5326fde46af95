-- As `find`, of which a condition holds and in any order; made for one use, with the condition's
-- values.
SELECT duerow_message.id, duerow_message.queue, duerow_message.payload AS payload, duerow_message.kind,
    duerow_message."key", duerow_message.headers AS headers, duerow_message."group", duerow_message.priority,
    duerow_message.status, coalesce(duerow_message.due_at, duerow_message.behind_at) AS coalesce_1,
    duerow_message.first_due_at, duerow_message.attempts, duerow_message.token, duerow_message.leased_by,
    duerow_message.leased_until, duerow_message.created_at, duerow_message.last_attempt_at, duerow_message.last_error
    AS last_error
FROM duerow_message
WHERE duerow_message.queue = :queue_in AND duerow_message.queue = 'mail' AND CASE WHEN
    (json_type(duerow_message.payload, '$."companyId"') IN ('integer', 'real')) THEN
    json_extract(duerow_message.payload, '$."companyId"') END = :param_1 AND (CASE WHEN (json_type(CASE WHEN
    (json_valid(duerow_message.payload) = 1) THEN duerow_message.payload END, :param_2) IN ('integer', 'real') AND
    typeof(json_extract(CASE WHEN (json_valid(duerow_message.payload) = 1) THEN duerow_message.payload END, :param_2))
    = 'integer') THEN json_extract(CASE WHEN (json_valid(duerow_message.payload) = 1) THEN duerow_message.payload END,
    :param_2) END = :param_3 OR CASE WHEN (json_type(CASE WHEN (json_valid(duerow_message.payload) = 1) THEN
    duerow_message.payload END, :param_2) IN ('integer', 'real') AND typeof(json_extract(CASE WHEN
    (json_valid(duerow_message.payload) = 1) THEN duerow_message.payload END, :param_2)) = 'real' AND
    json_extract(CASE WHEN (json_valid(duerow_message.payload) = 1) THEN duerow_message.payload END, :param_2) >
    -9e999 AND json_extract(CASE WHEN (json_valid(duerow_message.payload) = 1) THEN duerow_message.payload END,
    :param_2) < 9e999) THEN json_extract(CASE WHEN (json_valid(duerow_message.payload) = 1) THEN
    duerow_message.payload END, :param_2) END = json_extract(:param_4, '$')) AND CASE WHEN
    (json_type(duerow_message.payload, '$."to"."city"') = 'text') THEN substr(json_extract(duerow_message.payload,
    '$."to"."city"'), 1, 200) END <= :param_5 AND CASE WHEN (json_type(CASE WHEN (json_valid(duerow_message.payload) =
    1) THEN duerow_message.payload END, :param_6) = 'text') THEN json_extract(CASE WHEN
    (json_valid(duerow_message.payload) = 1) THEN duerow_message.payload END, :param_6) END < :param_7
ORDER BY duerow_message.id ASC
LIMIT :limit_in OFFSET :param_8
