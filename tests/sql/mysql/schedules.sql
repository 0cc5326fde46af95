-- statement: delete_schedule
-- Delete the schedule with this name and version, and return its name.
SELECT duerow_schedule.name, duerow_schedule.name AS name__1, UTC_TIMESTAMP(6) AS anon_1
FROM duerow_schedule
WHERE duerow_schedule.name = :name_in AND duerow_schedule.version = :was
FOR UPDATE; DELETE /*+ SET_VAR(sql_safe_updates = 0) */ duerow_schedule
FROM (SELECT found_rows.`name`, found_rows.nth_given
FROM JSON_TABLE(:found, '$[*]' COLUMNS (`name` VARCHAR(255) CHARACTER
SET utf8mb4 COLLATE utf8mb4_0900_bin PATH '$', nth_given FOR ORDINALITY)) AS found_rows) AS found STRAIGHT_JOIN
    duerow_schedule ON duerow_schedule.name = found.name

-- statement: insert_schedule
-- Add a schedule, and return its name; return nothing if the name exists.
SELECT duerow_schedule.name
FROM duerow_schedule
WHERE duerow_schedule.name = :name_in
FOR UPDATE; INSERT INTO duerow_schedule (name, definition, next_at, last_at, version)
VALUES (:name_in, :definition_in, :next_in, :last_in, :version_in)

-- statement: next_tick
-- Read the next tick of all schedules, and the time.
SELECT (SELECT min(duerow_schedule.next_at) AS min_1
FROM duerow_schedule
WHERE duerow_schedule.next_at IS NOT NULL) AS anon_1, UTC_TIMESTAMP(6) AS anon_2

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
LIMIT :limit_in

-- statement: schedules-name
-- Read schedules: all, one by `name`, or those `due` by the bound time `until`.
SELECT duerow_schedule.name, duerow_schedule.definition AS definition, duerow_schedule.next_at,
    duerow_schedule.last_at, duerow_schedule.version
FROM duerow_schedule
WHERE duerow_schedule.name = :name_in

-- statement: update_schedule
-- Change the schedule with this name and version, and return its name.
SELECT duerow_schedule.name, duerow_schedule.name AS name__1, UTC_TIMESTAMP(6) AS anon_1
FROM duerow_schedule
WHERE duerow_schedule.name = :name_in AND duerow_schedule.version = :was
FOR UPDATE; UPDATE /*+ SET_VAR(sql_safe_updates = 0) SET_VAR(sql_mode =
    'STRICT_TRANS_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,ERROR_FOR_DIVISION_BY_ZERO') */ duerow_schedule FORCE INDEX
    (PRIMARY)
SET duerow_schedule.definition = :definition_in, duerow_schedule.next_at = :next_in, duerow_schedule.last_at =
    :last_in, duerow_schedule.version = :version_in
WHERE duerow_schedule.name IN :found
