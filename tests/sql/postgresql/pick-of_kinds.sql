-- Lock the oldest due rows of a line and read their id, due time and group, and the floor as in
-- `reserve`.
SELECT duerow_message.id, duerow_message.due_at, duerow_message."group", (SELECT CAST(EXTRACT(epoch
FROM greatest((SELECT min(oldest.due_at) AS min_1
FROM duerow_message AS oldest
WHERE oldest.queue = :queue_in::VARCHAR AND oldest.priority = :priority_in::SMALLINT AND oldest.due_at <=
    statement_timestamp() AND oldest."group" IS NOT NULL AND oldest.kind IN (:kind_0_in::VARCHAR,
    :kind_1_in::VARCHAR)), TIMESTAMPTZ '0001-01-02 00:00:00+00')) * 1000000 AS BIGINT) AS anon_2) AS anon_1
FROM duerow_message
WHERE duerow_message.queue = :queue_in::VARCHAR AND duerow_message.priority = :priority_in::SMALLINT AND
    duerow_message.due_at <= statement_timestamp() AND duerow_message."group" IS NOT NULL AND duerow_message.kind IN
    (:kind_0_in::VARCHAR, :kind_1_in::VARCHAR)
ORDER BY duerow_message.due_at, duerow_message.id
LIMIT :limit_in::INTEGER
FOR UPDATE SKIP LOCKED
