-- Read messages of a queue by the filters named: ids, keys, statuses, after_id; `by_id` sets the
-- order.
SELECT TOP (CAST(:limit_in AS INT)) duerow_message.id, duerow_message.queue, duerow_message.payload AS payload,
    duerow_message.kind, duerow_message.[key], duerow_message.headers AS headers, duerow_message.[group],
    duerow_message.priority, duerow_message.status, COALESCE(duerow_message.due_at, duerow_message.behind_at) AS
    coalesce_1, duerow_message.first_due_at, duerow_message.attempts, duerow_message.token, duerow_message.leased_by,
    duerow_message.leased_until, duerow_message.created_at, duerow_message.last_attempt_at, duerow_message.last_error
    AS last_error
FROM duerow_message
WHERE duerow_message.queue = CAST(CAST(:queue_in AS NVARCHAR(4000)) AS VARBINARY(8000)) AND duerow_message.id IN
    (SELECT ids_listed.value
FROM (SELECT CAST([value] AS BIGINT) AS [value]
FROM OPENJSON(CAST(:ids_value AS NVARCHAR(MAX)))) AS ids_listed) AND duerow_message.status IN (SELECT
    statuses_listed.value
FROM (SELECT [value] COLLATE Latin1_General_100_BIN2 AS [value]
FROM OPENJSON(CAST(:statuses_value AS NVARCHAR(MAX)))) AS statuses_listed)
ORDER BY duerow_message.priority, CASE WHEN (COALESCE(duerow_message.due_at, duerow_message.behind_at) IS NULL) THEN 1
    ELSE 0 END, COALESCE(duerow_message.due_at, duerow_message.behind_at), duerow_message.id
