-- Add numbers to those of their queues' lifetimes.
INSERT INTO duerow_counter (queue, minute, process, done, failed, dead, moved) SELECT given.queue, given.minute,
    given.process, given.done, given.failed, given.dead, given.moved
FROM (SELECT json_extract(given_rows.value, '$[0]') AS queue, json_extract(given_rows.value, '$[1]') AS minute,
    json_extract(given_rows.value, '$[2]') AS process, json_extract(given_rows.value, '$[3]') AS done,
    json_extract(given_rows.value, '$[4]') AS failed, json_extract(given_rows.value, '$[5]') AS dead,
    json_extract(given_rows.value, '$[6]') AS moved
FROM json_each(:given) AS given_rows) AS given
WHERE 1 = 1
ORDER BY given.queue
ON CONFLICT (queue, minute, process) DO UPDATE
SET done = (duerow_counter.done + excluded.done), failed = (duerow_counter.failed + excluded.failed), dead =
    (duerow_counter.dead + excluded.dead), moved = (duerow_counter.moved + excluded.moved)
