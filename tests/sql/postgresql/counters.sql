-- Read what was counted of a queue; and the time.
SELECT duerow_counter.minute, duerow_counter.done, duerow_counter.failed, duerow_counter.dead, duerow_counter.moved,
    CAST(duerow_counter.waiting AS TEXT) AS waiting, CAST(duerow_counter.handling AS TEXT) AS handling,
    statement_timestamp() AS statement_timestamp_1
FROM duerow_counter
WHERE duerow_counter.queue = :queue_in::VARCHAR
