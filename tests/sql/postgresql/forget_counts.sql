-- Take some rows of long ago away, those of lifetimes excepted; return their queues and numbers.
DELETE
FROM duerow_counter
WHERE (duerow_counter.queue, duerow_counter.minute, duerow_counter.process) IN (SELECT "old".queue, "old".minute,
    "old".process
FROM duerow_counter AS "old"
WHERE "old".minute < (statement_timestamp() + (:ago::BIGINT * INTERVAL '1 microsecond')) AND "old".process != ''
ORDER BY "old".minute
LIMIT :limit_in::INTEGER
FOR UPDATE SKIP LOCKED)
RETURNING duerow_counter.queue, duerow_counter.done, duerow_counter.failed, duerow_counter.dead, duerow_counter.moved
