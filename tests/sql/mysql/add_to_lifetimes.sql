-- Add numbers to those of their queues' lifetimes.
INSERT INTO duerow_counter (queue, minute, process, done, failed, dead, moved) SELECT given.queue, given.minute,
    given.process, given.done, given.failed, given.dead, given.moved
FROM (SELECT given_rows.`queue`, given_rows.`minute`, given_rows.`process`, given_rows.`done`, given_rows.`failed`,
    given_rows.`dead`, given_rows.`moved`, given_rows.nth_given
FROM JSON_TABLE(:given, '$[*]' COLUMNS (`queue` VARCHAR(255) CHARACTER
SET utf8mb4 COLLATE utf8mb4_0900_bin PATH '$[0]', `minute` DATETIME(6) PATH '$[1]', `process` VARCHAR(255) CHARACTER
SET utf8mb4 COLLATE utf8mb4_0900_bin PATH '$[2]', `done` BIGINT PATH '$[3]', `failed` BIGINT PATH '$[4]', `dead`
    BIGINT PATH '$[5]', `moved` BIGINT PATH '$[6]', nth_given FOR ORDINALITY)) AS given_rows) AS given
WHERE 1 = 1
ORDER BY given.queue ON DUPLICATE KEY UPDATE done = (duerow_counter.done + given.done), failed =
    (duerow_counter.failed + given.failed), dead = (duerow_counter.dead + given.dead), moved = (duerow_counter.moved +
    given.moved)
