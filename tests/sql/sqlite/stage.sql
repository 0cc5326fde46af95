-- Keep entries until they are published.
INSERT INTO duerow_staged (staging_id, place, queue, "key", kind, payload, headers, "group", priority, due, delay)
    SELECT given.staging_id, given.place, given.queue, given."key", given.kind, given.payload, given.headers,
    given."group", given.priority, given.due, given.delay
FROM (SELECT json_extract(given_rows.value, '$[0]') AS staging_id, json_extract(given_rows.value, '$[1]') AS place,
    json_extract(given_rows.value, '$[2]') AS queue, json_extract(given_rows.value, '$[3]') AS "key",
    json_extract(given_rows.value, '$[4]') AS kind, json_extract(given_rows.value, '$[5]') AS payload,
    json_extract(given_rows.value, '$[6]') AS headers, json_extract(given_rows.value, '$[7]') AS "group",
    json_extract(given_rows.value, '$[8]') AS priority, json_extract(given_rows.value, '$[9]') AS due,
    json_extract(given_rows.value, '$[10]') AS delay
FROM json_each(:given) AS given_rows) AS given
