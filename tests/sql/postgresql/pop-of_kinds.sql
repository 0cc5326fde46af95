-- Take the oldest due rows of a line without groups away; each with the time, and the floor as in
-- `reserve`.
DELETE
FROM duerow_message
WHERE duerow_message.id = ANY (array((SELECT duerow_message.id
FROM duerow_message
WHERE duerow_message.queue = :queue_in::VARCHAR AND duerow_message.priority = :priority_in::SMALLINT AND
    duerow_message.due_at <= statement_timestamp() AND duerow_message."group" IS NULL AND duerow_message.kind IN
    (:kind_0_in::VARCHAR, :kind_1_in::VARCHAR)
ORDER BY duerow_message.due_at, duerow_message.id
LIMIT :limit_in::INTEGER
FOR UPDATE SKIP LOCKED)))
RETURNING duerow_message.id, duerow_message.queue, CAST(duerow_message.payload AS TEXT) AS payload,
    duerow_message.kind, duerow_message.key, CAST(duerow_message.headers AS TEXT) AS headers, duerow_message."group",
    duerow_message.priority, duerow_message.status, coalesce(duerow_message.due_at, duerow_message.behind_at) AS
    coalesce_1, duerow_message.first_due_at, duerow_message.attempts, duerow_message.token, duerow_message.leased_by,
    duerow_message.leased_until, duerow_message.created_at, duerow_message.last_attempt_at,
    CAST(duerow_message.last_error AS TEXT) AS last_error, statement_timestamp() AS statement_timestamp_1, (SELECT
    CAST(EXTRACT(epoch
FROM greatest((SELECT min(oldest.due_at) AS min_1
FROM duerow_message AS oldest
WHERE oldest.queue = :queue_in::VARCHAR AND oldest.priority = :priority_in::SMALLINT AND oldest.due_at <=
    statement_timestamp() AND oldest."group" IS NULL AND oldest.kind IN (:kind_0_in::VARCHAR, :kind_1_in::VARCHAR)),
    TIMESTAMPTZ '0001-01-02 00:00:00+00')) * 1000000 AS BIGINT) AS anon_2) AS anon_1
