-- Take some rows of long ago away, those of lifetimes excepted; return their queues and numbers.
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
FOR UPDATE; DELETE /*+ SET_VAR(sql_safe_updates = 0) */ duerow_counter
FROM (SELECT found_rows.`queue`, found_rows.`minute`, found_rows.`process`, found_rows.nth_given
FROM JSON_TABLE(:found, '$[*]' COLUMNS (`queue` VARCHAR(255) CHARACTER
SET utf8mb4 COLLATE utf8mb4_0900_bin PATH '$[0]', `minute` DATETIME(6) PATH '$[1]', `process` VARCHAR(255) CHARACTER
SET utf8mb4 COLLATE utf8mb4_0900_bin PATH '$[2]', nth_given FOR ORDINALITY)) AS found_rows) AS found STRAIGHT_JOIN
    duerow_counter ON duerow_counter.queue = found.queue AND duerow_counter.minute = found.minute AND
    duerow_counter.process = found.process
