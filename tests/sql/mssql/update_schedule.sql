-- Change the schedule that has this name and version, and return its name.
UPDATE duerow_schedule
SET [definition] = :definition_in, next_at = CAST(:next_in AS DATETIME2(6)), last_at = CAST(:last_in AS DATETIME2(6)),
    version = CAST(:version_in AS BIGINT)
OUTPUT inserted.name
FROM duerow_schedule WITH (ROWLOCK, UPDLOCK, FORCESEEK)
WHERE duerow_schedule.name = CAST(CAST(:name_in AS NVARCHAR(4000)) AS VARBINARY(8000)) AND duerow_schedule.version =
    CAST(:was AS BIGINT)
