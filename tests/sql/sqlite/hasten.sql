-- Make held messages that nobody has due earlier, if the given time is; return whose time changed.
UPDATE duerow_message
SET due_at=coalesce(given.due, :now + given.delay, :now), behind_at=NULL
FROM (SELECT json_extract(given_rows.value, '$[0]') AS id, json_extract(given_rows.value, '$[1]') AS due,
    json_extract(given_rows.value, '$[2]') AS delay
FROM json_each(:given) AS given_rows) AS given
WHERE duerow_message.id = given.id AND duerow_message.leased_by IS NULL AND coalesce(duerow_message.due_at,
    duerow_message.behind_at) > coalesce(given.due, :now + given.delay, :now)
RETURNING id
