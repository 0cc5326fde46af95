-- Note that a consumer is there now.
DECLARE @now DATETIME2(6) = SYSUTCDATETIME(); UPDATE duerow_consumer
SET about = fresh.about, seen_at = fresh.seen_at
FROM (SELECT CAST(CAST(:name_in AS NVARCHAR(4000)) AS VARBINARY(8000)) AS name, :about_in AS about, @now AS seen_at)
    AS fresh
JOIN duerow_consumer WITH (ROWLOCK, UPDLOCK, HOLDLOCK, FORCESEEK) ON duerow_consumer.name = fresh.name; DECLARE @now
    DATETIME2(6) = SYSUTCDATETIME(); INSERT INTO duerow_consumer (name, about, seen_at) SELECT fresh.name,
    fresh.about, fresh.seen_at
FROM (SELECT CAST(CAST(:name_in AS NVARCHAR(4000)) AS VARBINARY(8000)) AS name, :about_in AS about, @now AS seen_at)
    AS fresh
WHERE NOT EXISTS (SELECT 1
FROM duerow_consumer AS held WITH (ROWLOCK, UPDLOCK, HOLDLOCK, FORCESEEK)
WHERE held.name = fresh.name)
