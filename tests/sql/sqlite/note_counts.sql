-- Keep what a process counted, in place of what it said of the same queues and minutes before.
INSERT INTO duerow_counter (queue, minute, process, done, failed, dead, moved, waiting, handling) SELECT given.queue,
    given.minute, given.process, given.done, given.failed, given.dead, given.moved, given.waiting, given.handling
FROM (SELECT json_extract(given_rows.value, '$[0]') AS queue, json_extract(given_rows.value, '$[1]') AS minute,
    json_extract(given_rows.value, '$[2]') AS process, json_extract(given_rows.value, '$[3]') AS done,
    json_extract(given_rows.value, '$[4]') AS failed, json_extract(given_rows.value, '$[5]') AS dead,
    json_extract(given_rows.value, '$[6]') AS moved, json_extract(given_rows.value, '$[7]') AS waiting,
    json_extract(given_rows.value, '$[8]') AS handling
FROM json_each(:given) AS given_rows) AS given
WHERE 1 = 1
ON CONFLICT (queue, minute, process) DO UPDATE
SET done = excluded.done, failed = excluded.failed, dead = excluded.dead, moved = excluded.moved, waiting =
    excluded.waiting, handling = excluded.handling
