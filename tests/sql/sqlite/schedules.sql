-- statement: delete_schedule
-- Delete the schedule with this name and version, and return its name.
DELETE
FROM duerow_schedule
WHERE duerow_schedule.name = :name_in AND duerow_schedule.version = :was
RETURNING name

-- statement: insert_schedule
-- Add a schedule, and return its name; return nothing if the name exists.
INSERT INTO duerow_schedule (name, definition, next_at, last_at, version)
VALUES (:name_in, :definition_in, :next_in, :last_in, :version_in)
ON CONFLICT (name) DO NOTHING
RETURNING name

-- statement: next_tick
-- Read the next tick of all schedules, and the time.
SELECT (SELECT min(duerow_schedule.next_at) AS min_1
FROM duerow_schedule
WHERE duerow_schedule.next_at IS NOT NULL) AS anon_1, :now AS anon_2

-- statement: schedules
-- Read schedules: all, one by `name`, or those `due` by the bound time `until`.
SELECT duerow_schedule.name, duerow_schedule.definition AS definition, duerow_schedule.next_at,
    duerow_schedule.last_at, duerow_schedule.version
FROM duerow_schedule
ORDER BY duerow_schedule.name

-- statement: schedules-due
-- Read schedules: all, one by `name`, or those `due` by the bound time `until`.
SELECT duerow_schedule.name, duerow_schedule.definition AS definition, duerow_schedule.next_at,
    duerow_schedule.last_at, duerow_schedule.version
FROM duerow_schedule
WHERE duerow_schedule.next_at <= :until
ORDER BY duerow_schedule.next_at
LIMIT :limit_in OFFSET :param_1

-- statement: schedules-name
-- Read schedules: all, one by `name`, or those `due` by the bound time `until`.
SELECT duerow_schedule.name, duerow_schedule.definition AS definition, duerow_schedule.next_at,
    duerow_schedule.last_at, duerow_schedule.version
FROM duerow_schedule
WHERE duerow_schedule.name = :name_in

-- statement: update_schedule
-- Change the schedule with this name and version, and return its name.
UPDATE duerow_schedule
SET definition=:definition_in, next_at=:next_in, last_at=:last_in, version=:version_in
WHERE duerow_schedule.name = :name_in AND duerow_schedule.version = :was
RETURNING name
