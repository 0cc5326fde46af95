-- Read when the next of each given line is due, of those due from the bound `floor` on; and the time.
SELECT CASE WHEN given.grouped THEN (SELECT duerow_message.due_at
FROM duerow_message
WHERE duerow_message.queue = :queue_in AND duerow_message.priority = given.priority AND duerow_message.kind IN
    (:kind_0_in, :kind_1_in) AND duerow_message.due_at >= :floor AND duerow_message.line = 1
ORDER BY duerow_message.queue, duerow_message.priority, duerow_message.line, duerow_message.due_at
LIMIT 1) ELSE (SELECT duerow_message.due_at
FROM duerow_message
WHERE duerow_message.queue = :queue_in AND duerow_message.priority = given.priority AND duerow_message.kind IN
    (:kind_0_in, :kind_1_in) AND duerow_message.due_at >= :floor AND duerow_message.line = 0
ORDER BY duerow_message.queue, duerow_message.priority, duerow_message.line, duerow_message.due_at
LIMIT 1) END AS anon_1, UTC_TIMESTAMP(6) AS anon_2
FROM (SELECT given_rows.`grouped`, given_rows.`priority`, given_rows.nth_given
FROM JSON_TABLE(:given, '$[*]' COLUMNS (`grouped` BIGINT PATH '$[0]', `priority` BIGINT PATH '$[1]', nth_given FOR
    ORDINALITY)) AS given_rows) AS given
