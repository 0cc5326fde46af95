-- statement: add_to_lifetimes
-- Add numbers to the lifetimes of their queues.
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

-- statement: counters
-- Read the counters of a queue, and the time.
SELECT duerow_counter.minute, duerow_counter.done, duerow_counter.failed, duerow_counter.dead, duerow_counter.moved,
    duerow_counter.waiting AS waiting, duerow_counter.handling AS handling, duerow_counter.process, :now AS anon_1
FROM duerow_counter
WHERE duerow_counter.queue = :queue_in

-- statement: forget_counts
-- Delete some old rows, except lifetimes; return their queues and numbers.
DELETE
FROM duerow_counter
WHERE (duerow_counter.queue, duerow_counter.minute, duerow_counter.process) IN (SELECT old.queue, old.minute,
    old.process
FROM duerow_counter AS old
WHERE old.minute < :now + :ago AND old.process != ''
ORDER BY old.minute
LIMIT :limit_in OFFSET :param_1)
RETURNING queue, done, failed, dead, moved

-- statement: note_counts
-- Write the counts of a process, replacing earlier ones for the same queues and minutes.
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
