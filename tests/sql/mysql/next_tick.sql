-- Read when the next of all schedules ticks; and the time.
SELECT (SELECT min(duerow_schedule.next_at) AS min_1
FROM duerow_schedule
WHERE duerow_schedule.next_at IS NOT NULL) AS anon_1, UTC_TIMESTAMP(6) AS anon_2
