-- statement: consumers
-- Read the consumers that were seen recently.
SELECT duerow_consumer.name, duerow_consumer.about, duerow_consumer.seen_at
FROM duerow_consumer
ORDER BY duerow_consumer.name

-- statement: delete_pipeline
-- Delete the pipeline with this name and version, and return its name.
DELETE
FROM duerow_pipeline
OUTPUT deleted.name
WHERE duerow_pipeline.name = CAST(CAST(:name_in AS NVARCHAR(4000)) AS VARBINARY(8000)) AND duerow_pipeline.version =
    CAST(:was AS BIGINT)

-- statement: draining
-- Read which of the given queues are draining.
SELECT duerow_queue.name
FROM duerow_queue
WHERE duerow_queue.name IN (SELECT given.queue
FROM (SELECT CAST(line.[key] AS INT) AS nth, CAST(CAST(cell.[queue] AS NVARCHAR(4000)) AS VARBINARY(8000)) AS [queue]
FROM OPENJSON(CAST(:given AS NVARCHAR(MAX))) AS line CROSS APPLY OPENJSON(line.[value]) WITH ([queue] NVARCHAR(4000)
    '$[0]') AS cell) AS given) AND duerow_queue.draining = 1

-- statement: forget_consumers
-- Delete the consumers that were last seen longer ago than the bound `span`.
DECLARE @now DATETIME2(6) = SYSUTCDATETIME(); DELETE
FROM duerow_consumer
WHERE dateadd(MICROSECOND, CAST(:span AS BIGINT) % 1000000, dateadd(SECOND, (CAST(:span AS BIGINT) / 1000000) % 86400,
    dateadd(DAY, (CAST(:span AS BIGINT) / 1000000) / 86400, duerow_consumer.seen_at))) < @now

-- statement: hold
-- Write nothing, as the first step of a transaction, so that SQLite lets no other connection start
-- writing.
DELETE
FROM duerow_message
WHERE 1 = 0

-- statement: insert_pipeline
-- Add a pipeline, and return its name; return nothing if the name exists.
INSERT INTO duerow_pipeline (name, [definition], version)
OUTPUT inserted.name SELECT fresh.name, fresh.[definition], fresh.version
FROM (SELECT CAST(CAST(:name_in AS NVARCHAR(4000)) AS VARBINARY(8000)) AS name, :definition_in AS [definition],
    CAST(:version_in AS BIGINT) AS version) AS fresh
WHERE NOT EXISTS (SELECT 1
FROM duerow_pipeline AS held WITH (ROWLOCK, UPDLOCK, HOLDLOCK, FORCESEEK)
WHERE held.name = fresh.name)

-- statement: note_consumer
-- Record that a consumer is alive now.
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

-- statement: past_queues_after
-- Like `queues_after`, for queues that have history, remembered keys or counters.
SELECT (SELECT min(duerow_history.queue) AS min_1
FROM duerow_history
WHERE duerow_history.queue > CAST(CAST(:queue_in AS NVARCHAR(4000)) AS VARBINARY(8000))) AS name, 1 AS place UNION ALL
    SELECT (SELECT min(duerow_remembered.queue) AS min_2
FROM duerow_remembered
WHERE duerow_remembered.queue > CAST(CAST(:queue_in AS NVARCHAR(4000)) AS VARBINARY(8000))) AS name, 1 AS place UNION
    ALL SELECT (SELECT min(duerow_counter.queue) AS min_3
FROM duerow_counter
WHERE duerow_counter.queue > CAST(CAST(:queue_in AS NVARCHAR(4000)) AS VARBINARY(8000))) AS name, 1 AS place

-- statement: pipelines
-- Read pipelines: all, or one by `name`.
SELECT duerow_pipeline.name, duerow_pipeline.[definition] AS [definition], duerow_pipeline.version
FROM duerow_pipeline
ORDER BY duerow_pipeline.name

-- statement: pipelines-name
-- Read pipelines: all, or one by `name`.
SELECT duerow_pipeline.name, duerow_pipeline.[definition] AS [definition], duerow_pipeline.version
FROM duerow_pipeline
WHERE duerow_pipeline.name = CAST(CAST(:name_in AS NVARCHAR(4000)) AS VARBINARY(8000))
ORDER BY duerow_pipeline.name

-- statement: put_settings-definition
-- Change settings of a queue: whether it is `paused` or `draining`, and its `definition`.
UPDATE duerow_queue
SET [definition] = fresh.[definition]
FROM (SELECT CAST(CAST(:queue_in AS NVARCHAR(4000)) AS VARBINARY(8000)) AS name, 0 AS paused, 0 AS draining,
    :definition_in AS [definition]) AS fresh
JOIN duerow_queue WITH (ROWLOCK, UPDLOCK, HOLDLOCK, FORCESEEK) ON duerow_queue.name = fresh.name; INSERT INTO
    duerow_queue (name, paused, draining, [definition]) SELECT fresh.name, fresh.paused, fresh.draining,
    fresh.[definition]
FROM (SELECT CAST(CAST(:queue_in AS NVARCHAR(4000)) AS VARBINARY(8000)) AS name, 0 AS paused, 0 AS draining,
    :definition_in AS [definition]) AS fresh
WHERE NOT EXISTS (SELECT 1
FROM duerow_queue AS held WITH (ROWLOCK, UPDLOCK, HOLDLOCK, FORCESEEK)
WHERE held.name = fresh.name)

-- statement: put_settings-draining-paused
-- Change settings of a queue: whether it is `paused` or `draining`, and its `definition`.
UPDATE duerow_queue
SET paused = fresh.paused, draining = fresh.draining
FROM (SELECT CAST(CAST(:queue_in AS NVARCHAR(4000)) AS VARBINARY(8000)) AS name, CAST(:paused_in AS BIT) AS paused,
    CAST(:draining_in AS BIT) AS draining, NULL AS [definition]) AS fresh
JOIN duerow_queue WITH (ROWLOCK, UPDLOCK, HOLDLOCK, FORCESEEK) ON duerow_queue.name = fresh.name; INSERT INTO
    duerow_queue (name, paused, draining, [definition]) SELECT fresh.name, fresh.paused, fresh.draining,
    fresh.[definition]
FROM (SELECT CAST(CAST(:queue_in AS NVARCHAR(4000)) AS VARBINARY(8000)) AS name, CAST(:paused_in AS BIT) AS paused,
    CAST(:draining_in AS BIT) AS draining, NULL AS [definition]) AS fresh
WHERE NOT EXISTS (SELECT 1
FROM duerow_queue AS held WITH (ROWLOCK, UPDLOCK, HOLDLOCK, FORCESEEK)
WHERE held.name = fresh.name)

-- statement: queues_after
-- Read the names of the first queues after a name, with their places; each kind of row has its own
-- index.
SELECT (SELECT min(duerow_message.queue) AS min_1
FROM duerow_message
WHERE duerow_message.queue > CAST(CAST(:queue_in AS NVARCHAR(4000)) AS VARBINARY(8000)) AND duerow_message.due_at IS
    NOT NULL AND duerow_message.[group] IS NULL) AS name, 1 AS place UNION ALL SELECT (SELECT
    min(duerow_message.queue) AS min_2
FROM duerow_message
WHERE duerow_message.queue > CAST(CAST(:queue_in AS NVARCHAR(4000)) AS VARBINARY(8000)) AND duerow_message.[group] IS
    NOT NULL AND duerow_message.status IN ('new', 'error')) AS name, 1 AS place UNION ALL SELECT (SELECT
    min(duerow_message.queue) AS min_3
FROM duerow_message
WHERE duerow_message.queue > CAST(CAST(:queue_in AS NVARCHAR(4000)) AS VARBINARY(8000)) AND duerow_message.due_at IS
    NULL AND duerow_message.behind_at IS NULL) AS name, 1 AS place

-- statement: settings
-- Read the settings of all queues, or of one by `name`.
SELECT duerow_queue.name, duerow_queue.[definition] AS [definition], duerow_queue.paused, duerow_queue.draining
FROM duerow_queue
ORDER BY duerow_queue.name

-- statement: settings-name
-- Read the settings of all queues, or of one by `name`.
SELECT duerow_queue.name, duerow_queue.[definition] AS [definition], duerow_queue.paused, duerow_queue.draining
FROM duerow_queue
WHERE duerow_queue.name = CAST(CAST(:queue_in AS NVARCHAR(4000)) AS VARBINARY(8000))

-- statement: update_pipeline
-- Change the pipeline with this name and version, and return its name.
UPDATE duerow_pipeline
SET [definition] = :definition_in, version = CAST(:version_in AS BIGINT)
OUTPUT inserted.name
FROM duerow_pipeline WITH (ROWLOCK, UPDLOCK, FORCESEEK)
WHERE duerow_pipeline.name = CAST(CAST(:name_in AS NVARCHAR(4000)) AS VARBINARY(8000)) AND duerow_pipeline.version =
    CAST(:was AS BIGINT)

-- statement: whereabouts
-- Read the identity of this database.
SELECT DB_NAME() AS asked_0, CAST(SERVERPROPERTY('ServerName') AS NVARCHAR(256)) AS asked_1, CAST((SELECT
    service_broker_guid
FROM sys.databases
WHERE database_id = DB_ID()) AS NVARCHAR(36)) AS asked_2, object_id(:param_1, N'U') AS asked_3
