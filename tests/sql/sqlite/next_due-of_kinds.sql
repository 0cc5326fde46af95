-- Read when the next of each given line is due, of those due from the bound `floor` on; and the time.
SELECT CASE WHEN given.grouped THEN (SELECT min(duerow_message.due_at) AS min_1
FROM duerow_message
WHERE duerow_message.queue = :queue_in AND duerow_message.priority = given.priority AND duerow_message.kind IN
    (:kind_0_in, :kind_1_in) AND duerow_message.due_at >= :floor AND duerow_message."group" IS NOT NULL) ELSE (SELECT
    min(duerow_message.due_at) AS min_2
FROM duerow_message
WHERE duerow_message.queue = :queue_in AND duerow_message.priority = given.priority AND duerow_message.kind IN
    (:kind_0_in, :kind_1_in) AND duerow_message.due_at >= :floor AND duerow_message."group" IS NULL) END AS anon_1,
    :now AS anon_2
FROM (SELECT json_extract(given_rows.value, '$[0]') AS grouped, json_extract(given_rows.value, '$[1]') AS priority
FROM json_each(:given) AS given_rows) AS given
