-- statement: add_to_lifetimes
-- Add numbers to the lifetimes of their queues.
INSERT INTO duerow_counter (queue, minute, process, done, failed, dead, moved) SELECT given.queue, given.minute,
    given.process, given.done, given.failed, given.dead, given.moved
FROM (SELECT given_rows.`queue`, given_rows.`minute`, given_rows.`process`, given_rows.`done`, given_rows.`failed`,
    given_rows.`dead`, given_rows.`moved`
FROM JSON_TABLE(:given, '$[*]' COLUMNS (`queue` VARCHAR(255) CHARACTER
SET utf8mb4 COLLATE utf8mb4_nopad_bin PATH '$[0]', `minute` DATETIME(6) PATH '$[1]', `process` VARCHAR(255) CHARACTER
SET utf8mb4 COLLATE utf8mb4_nopad_bin PATH '$[2]', `done` BIGINT PATH '$[3]', `failed` BIGINT PATH '$[4]', `dead`
    BIGINT PATH '$[5]', `moved` BIGINT PATH '$[6]')) AS given_rows) AS given
WHERE 1 = 1
ORDER BY given.queue ON DUPLICATE KEY UPDATE done = (duerow_counter.done +
VALUES(done)), failed = (duerow_counter.failed +
VALUES(failed)), dead = (duerow_counter.dead +
VALUES(dead)), moved = (duerow_counter.moved +
VALUES(moved))

-- statement: counters
-- Read the counters of a queue, and the time.
SELECT duerow_counter.minute, duerow_counter.done, duerow_counter.failed, duerow_counter.dead, duerow_counter.moved,
    duerow_counter.waiting AS waiting, duerow_counter.handling AS handling, duerow_counter.process, UTC_TIMESTAMP(6)
    AS anon_1
FROM duerow_counter
WHERE duerow_counter.queue = :queue_in

-- statement: forget_counts
-- Delete some old rows, except lifetimes; return their queues and numbers.
SELECT STRAIGHT_JOIN duerow_counter.queue, duerow_counter.done, duerow_counter.failed, duerow_counter.dead,
    duerow_counter.moved, duerow_counter.queue AS queue__1, duerow_counter.minute, duerow_counter.process,
    UTC_TIMESTAMP(6) AS anon_1
FROM (SELECT old.queue AS queue, old.minute AS minute, old.process AS process
FROM duerow_counter AS old
WHERE old.minute < timestampadd(MICROSECOND, :ago, UTC_TIMESTAMP(6)) AND old.process != ''
ORDER BY old.minute
LIMIT :limit_in
FOR UPDATE SKIP LOCKED) AS picked INNER
JOIN duerow_counter ON duerow_counter.queue = picked.queue AND duerow_counter.minute = picked.minute AND
    duerow_counter.process = picked.process
FOR UPDATE;
SET STATEMENT sql_safe_updates = 0 FOR DELETE duerow_counter
FROM (SELECT found_rows.`queue`, found_rows.`minute`, found_rows.`process`
FROM JSON_TABLE(:found, '$[*]' COLUMNS (`queue` VARCHAR(255) CHARACTER
SET utf8mb4 COLLATE utf8mb4_nopad_bin PATH '$[0]', `minute` DATETIME(6) PATH '$[1]', `process` VARCHAR(255) CHARACTER
SET utf8mb4 COLLATE utf8mb4_nopad_bin PATH '$[2]')) AS found_rows) AS found STRAIGHT_JOIN duerow_counter ON
    duerow_counter.queue = found.queue AND duerow_counter.minute = found.minute AND duerow_counter.process =
    found.process

-- statement: note_counts
-- Write the counts of a process, replacing earlier ones for the same queues and minutes.
INSERT INTO duerow_counter (queue, minute, process, done, failed, dead, moved, waiting, handling) SELECT given.queue,
    given.minute, given.process, given.done, given.failed, given.dead, given.moved, given.waiting, given.handling
FROM (SELECT given_rows.`queue`, given_rows.`minute`, given_rows.`process`, given_rows.`done`, given_rows.`failed`,
    given_rows.`dead`, given_rows.`moved`, given_rows.`waiting`, given_rows.`handling`
FROM JSON_TABLE(:given, '$[*]' COLUMNS (`queue` VARCHAR(255) CHARACTER
SET utf8mb4 COLLATE utf8mb4_nopad_bin PATH '$[0]', `minute` DATETIME(6) PATH '$[1]', `process` VARCHAR(255) CHARACTER
SET utf8mb4 COLLATE utf8mb4_nopad_bin PATH '$[2]', `done` BIGINT PATH '$[3]', `failed` BIGINT PATH '$[4]', `dead`
    BIGINT PATH '$[5]', `moved` BIGINT PATH '$[6]', `waiting` LONGTEXT CHARACTER
SET utf8mb4 COLLATE utf8mb4_nopad_bin PATH '$[7]', `handling` LONGTEXT CHARACTER
SET utf8mb4 COLLATE utf8mb4_nopad_bin PATH '$[8]')) AS given_rows) AS given
WHERE 1 = 1 ON DUPLICATE KEY UPDATE done =
VALUES(done), failed =
VALUES(failed), dead =
VALUES(dead), moved =
VALUES(moved), waiting =
VALUES(waiting), handling =
VALUES(handling)
