-- Read when the next of each given line is due, of those due from the bound `floor` on; and the time.
SELECT CASE WHEN given.grouped THEN (SELECT min(duerow_message.due_at) AS min_1
FROM duerow_message
WHERE duerow_message.queue = :queue_in::VARCHAR AND duerow_message.priority = given.priority AND duerow_message.kind
    IN (:kind_0_in::VARCHAR, :kind_1_in::VARCHAR) AND duerow_message.due_at >= :floor::TIMESTAMP WITH TIME ZONE AND
    duerow_message."group" IS NOT NULL) ELSE (SELECT min(duerow_message.due_at) AS min_2
FROM duerow_message
WHERE duerow_message.queue = :queue_in::VARCHAR AND duerow_message.priority = given.priority AND duerow_message.kind
    IN (:kind_0_in::VARCHAR, :kind_1_in::VARCHAR) AND duerow_message.due_at >= :floor::TIMESTAMP WITH TIME ZONE AND
    duerow_message."group" IS NULL) END AS anon_1, statement_timestamp() AS statement_timestamp_1
FROM unnest(CAST(CAST(:given_grouped::VARCHAR AS TEXT) AS BOOLEAN[]), CAST(CAST(:given_priority::VARCHAR AS TEXT) AS
    SMALLINT[])) AS given(grouped, priority)
