-- Take away the schedule that has this name and version, and return its name.
DELETE
FROM duerow_schedule
OUTPUT deleted.name
WHERE duerow_schedule.name = CAST(CAST(:name_in AS NVARCHAR(4000)) AS VARBINARY(8000)) AND duerow_schedule.version =
    CAST(:was AS BIGINT)
