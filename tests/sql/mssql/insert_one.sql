-- Add one message and return its id; nothing if a live message holds the key. Wakes who sleeps.
DECLARE @now DATETIME2(6) = SYSUTCDATETIME(); INSERT INTO duerow_message (queue, [key], kind, payload, headers,
    [group], priority, status, due_at, first_due_at, attempts, token, created_at)
OUTPUT inserted.id
VALUES (CAST(CAST(:queue_in AS NVARCHAR(4000)) AS VARBINARY(8000)), NULL, :kind_in, :payload_in, NULL, NULL, 0, 'new',
    @now, @now, 0, 0, @now)
