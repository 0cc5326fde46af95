-- Put the first of each given group into the line, if it is not; return the queues and due times.
UPDATE duerow_message
SET due_at=coalesce(duerow_message.behind_at, duerow_message.due_at), behind_at=NULL
WHERE duerow_message.id IN (SELECT (SELECT other.id
FROM duerow_message AS other
WHERE other.queue = given.queue AND other."group" = given."group" AND other.status IN ('new', 'error')
ORDER BY other.id
LIMIT 1 OFFSET :param_1) AS id
FROM (SELECT json_extract(given_rows.value, '$[0]') AS queue, json_extract(given_rows.value, '$[1]') AS "group"
FROM json_each(:given) AS given_rows) AS given) AND duerow_message.leased_by IS NULL
RETURNING queue, due_at
