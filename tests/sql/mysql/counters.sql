-- Read what was counted of a queue; and the time.
SELECT duerow_counter.minute, duerow_counter.done, duerow_counter.failed, duerow_counter.dead, duerow_counter.moved,
    duerow_counter.waiting AS waiting, duerow_counter.handling AS handling, UTC_TIMESTAMP(6) AS anon_1
FROM duerow_counter
WHERE duerow_counter.queue = :queue_in
