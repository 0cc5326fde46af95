-- Change rows whose token matches unless a lease on them runs and `even_if_leased` is false; return
-- their ids.
UPDATE duerow_message
SET priority=given.priority, due_at=CASE WHEN (duerow_message.leased_until > :now) THEN :now ELSE
    duerow_message.due_at END, token=(duerow_message.token + 1), leased_by=NULL, leased_until=NULL
FROM (SELECT json_extract(given_rows.value, '$[0]') AS id, json_extract(given_rows.value, '$[1]') AS token,
    json_extract(given_rows.value, '$[2]') AS priority
FROM json_each(:given) AS given_rows) AS given
WHERE duerow_message.id = given.id AND duerow_message.token = given.token AND duerow_message.queue = :queue_in AND
    duerow_message.status != 'done' AND (:even_if_leased = 1 OR duerow_message.leased_until IS NULL OR
    duerow_message.leased_until <= :now)
RETURNING id
