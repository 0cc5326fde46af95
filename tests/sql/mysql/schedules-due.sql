-- Read schedules: all, by `name`, or those `due` until a bound moment.
SELECT duerow_schedule.name, duerow_schedule.definition AS definition, duerow_schedule.next_at,
    duerow_schedule.last_at, duerow_schedule.version
FROM duerow_schedule
WHERE duerow_schedule.next_at <= :until
ORDER BY duerow_schedule.next_at
LIMIT :limit_in
