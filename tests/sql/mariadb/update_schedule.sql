-- Change the schedule that has this name and version, and return its name.
SELECT duerow_schedule.name, duerow_schedule.name AS name__1, UTC_TIMESTAMP(6) AS anon_1
FROM duerow_schedule
WHERE duerow_schedule.name = :name_in AND duerow_schedule.version = :was
FOR UPDATE;
SET STATEMENT sql_safe_updates = 0, sql_mode = CONCAT(@@sql_mode, ',SIMULTANEOUS_ASSIGNMENT,STRICT_ALL_TABLES')
FOR UPDATE duerow_schedule FORCE INDEX (PRIMARY)
SET duerow_schedule.definition = :definition_in, duerow_schedule.next_at = :next_in, duerow_schedule.last_at =
    :last_in, duerow_schedule.version = :version_in
WHERE duerow_schedule.name IN :found
