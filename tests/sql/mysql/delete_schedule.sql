-- Take away the schedule that has this name and version, and return its name.
SELECT duerow_schedule.name, duerow_schedule.name AS name__1, UTC_TIMESTAMP(6) AS anon_1
FROM duerow_schedule
WHERE duerow_schedule.name = :name_in AND duerow_schedule.version = :was
FOR UPDATE; DELETE /*+ SET_VAR(sql_safe_updates = 0) */ duerow_schedule
FROM (SELECT found_rows.`name`, found_rows.nth_given
FROM JSON_TABLE(:found, '$[*]' COLUMNS (`name` VARCHAR(255) CHARACTER
SET utf8mb4 COLLATE utf8mb4_0900_bin PATH '$', nth_given FOR ORDINALITY)) AS found_rows) AS found STRAIGHT_JOIN
    duerow_schedule ON duerow_schedule.name = found.name
