-- Take away the schedule that has this name and version, and return its name.
DELETE duerow_schedule
OUTPUT deleted.name
FROM (SELECT duerow_schedule.name AS name
FROM duerow_schedule WITH (ROWLOCK, UPDLOCK)
WHERE duerow_schedule.name = CAST(CAST(:name_in AS NVARCHAR(4000)) AS VARBINARY(8000)) AND duerow_schedule.version =
    CAST(:was AS BIGINT)) AS picked
JOIN duerow_schedule WITH (ROWLOCK, UPDLOCK, FORCESEEK) ON duerow_schedule.name = picked.name AND duerow_schedule.name
    = CAST(CAST(:name_in AS NVARCHAR(4000)) AS VARBINARY(8000)) AND duerow_schedule.version = CAST(:was AS BIGINT)
