-- Take some rows of long ago away, those of lifetimes excepted; return their queues and numbers.
DELETE
FROM duerow_counter
WHERE (duerow_counter.queue, duerow_counter.minute, duerow_counter.process) IN (SELECT old.queue, old.minute,
    old.process
FROM duerow_counter AS old
WHERE old.minute < :now + :ago AND old.process != ''
ORDER BY old.minute
LIMIT :limit_in OFFSET :param_1)
RETURNING queue, done, failed, dead, moved
