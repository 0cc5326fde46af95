-- Read which of the given queues take no new messages.
SELECT duerow_queue.name
FROM duerow_queue
WHERE duerow_queue.name IN (SELECT given.queue
FROM (SELECT given_rows.`queue`
FROM JSON_TABLE(:given, '$[*]' COLUMNS (`queue` VARCHAR(255) CHARACTER
SET utf8mb4 COLLATE utf8mb4_nopad_bin PATH '$')) AS given_rows) AS given) AND duerow_queue.draining = 1
