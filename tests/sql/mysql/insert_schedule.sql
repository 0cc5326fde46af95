-- Add a schedule, and return its name; nothing if there is one of that name.
SELECT duerow_schedule.name
FROM duerow_schedule
WHERE duerow_schedule.name = :name_in
FOR UPDATE; INSERT INTO duerow_schedule (name, definition, next_at, last_at, version)
VALUES (:name_in, :definition_in, :next_in, :last_in, :version_in)
