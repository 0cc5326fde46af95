-- statement: blockers
-- Read the ids that hold back rows of groups: a row with a lower id, and a leased row; null if there
-- is none.
SELECT duerow_message.id, CASE WHEN (duerow_message.leased_by IS NOT NULL) THEN 1 ELSE 0 END AS anon_1, (SELECT TOP
    (1) other.id
FROM duerow_message AS other
WHERE other.queue = duerow_message.queue AND other.[group] = duerow_message.[group] AND other.status IN ('new',
    'error') AND other.id < duerow_message.id
ORDER BY other.id) AS anon_2, (SELECT TOP (1) other.id
FROM duerow_message AS other
WHERE other.queue = duerow_message.queue AND other.[group] = duerow_message.[group] AND other.leased_by IS NOT NULL
    AND other.id != duerow_message.id) AS anon_3, (SELECT TOP (1) other.id
FROM duerow_message AS other WITH (ROWLOCK, REPEATABLEREAD, READPAST)
WHERE other.queue = duerow_message.queue AND other.[group] = duerow_message.[group] AND other.status IN ('new',
    'error') AND other.id < duerow_message.id
ORDER BY other.id) AS anon_4, (SELECT TOP (1) other.id
FROM duerow_message AS other WITH (ROWLOCK, REPEATABLEREAD, READPAST)
WHERE other.queue = duerow_message.queue AND other.[group] = duerow_message.[group] AND other.leased_by IS NOT NULL
    AND other.id != duerow_message.id) AS anon_5
FROM (SELECT CAST(line.[key] AS INT) AS nth, cell.[id] AS [id]
FROM OPENJSON(CAST(:given AS NVARCHAR(MAX))) AS line CROSS APPLY OPENJSON(line.[value]) WITH ([id] BIGINT '$[0]') AS
    cell) AS given
JOIN duerow_message WITH (FORCESEEK) ON duerow_message.id = given.id

-- statement: promote_next
-- Put the first unleased row of each given group in line; return the queues and due times.
UPDATE duerow_message
SET due_at = COALESCE(duerow_message.behind_at, duerow_message.due_at), behind_at = NULL
OUTPUT inserted.queue, inserted.due_at
FROM (SELECT duerow_message.id AS id
FROM (SELECT (SELECT TOP (1) other.id
FROM duerow_message AS other WITH (ROWLOCK, UPDLOCK)
WHERE other.queue = given.queue AND other.[group] = given.[group] AND other.status IN ('new', 'error') AND
    other.leased_by IS NULL
ORDER BY other.id) AS id
FROM (SELECT CAST(line.[key] AS INT) AS nth, CAST(CAST(cell.[queue] AS NVARCHAR(4000)) AS VARBINARY(8000)) AS [queue],
    CAST(CAST(cell.[group] AS NVARCHAR(4000)) AS VARBINARY(8000)) AS [group]
FROM OPENJSON(CAST(:given AS NVARCHAR(MAX))) AS line CROSS APPLY OPENJSON(line.[value]) WITH ([queue] NVARCHAR(4000)
    '$[0]', [group] NVARCHAR(4000) '$[1]') AS cell) AS given) AS first
JOIN duerow_message WITH (FORCESEEK, ROWLOCK, UPDLOCK) ON duerow_message.id = first.id
WHERE duerow_message.leased_by IS NULL) AS picked
JOIN duerow_message WITH (INDEX(1), ROWLOCK, UPDLOCK, FORCESEEK) ON duerow_message.id = picked.id AND
    duerow_message.leased_by IS NULL

-- statement: promote_next-of_shared
-- Put the first unleased row of each given group in line; return the queues and due times.
UPDATE duerow_message
SET due_at = COALESCE(duerow_message.behind_at, duerow_message.due_at), behind_at = NULL
OUTPUT inserted.queue, inserted.due_at
FROM (SELECT duerow_message.id AS id
FROM (SELECT (SELECT TOP (1) other.id
FROM duerow_message AS other WITH (ROWLOCK, UPDLOCK)
WHERE other.queue = given.queue AND other.[group] = given.[group] AND other.status IN ('new', 'error') AND
    other.leased_by IS NULL
ORDER BY other.id) AS id
FROM (SELECT CAST(line.[key] AS INT) AS nth, CAST(CAST(cell.[group] AS NVARCHAR(4000)) AS VARBINARY(8000)) AS [group],
    CAST(CAST(:given_queue AS NVARCHAR(4000)) AS VARBINARY(8000)) AS [queue]
FROM OPENJSON(CAST(:given AS NVARCHAR(MAX))) AS line CROSS APPLY OPENJSON(line.[value]) WITH ([group] NVARCHAR(4000)
    '$[0]') AS cell) AS given) AS first
JOIN duerow_message WITH (FORCESEEK, ROWLOCK, UPDLOCK) ON duerow_message.id = first.id
WHERE duerow_message.leased_by IS NULL) AS picked
JOIN duerow_message WITH (INDEX(1), ROWLOCK, UPDLOCK, FORCESEEK) ON duerow_message.id = picked.id AND
    duerow_message.leased_by IS NULL

-- statement: put_behind
-- Take rows of groups out of line until it is their turn; this ends expired turns.
UPDATE duerow_message
SET due_at = NULL, behind_at = duerow_message.due_at, last_error = CASE WHEN (duerow_message.leased_until IS NOT NULL)
    THEN concat('{"message":"', string_escape(concat('was in hand when its worker died: lease of ',
    duerow_message.leased_by, ' ended at ', convert(VARCHAR(19), duerow_message.leased_until, 120), ' UTC, attempt ',
    duerow_message.attempts, ' of ', COALESCE(CAST(CAST(:attempts_in AS INT) AS NVARCHAR(20)), 'any number')),
    'json'), '","traceback":null,"type":"LeaseEnded"}') ELSE duerow_message.last_error END, token =
    duerow_message.token + CASE WHEN (duerow_message.leased_until IS NOT NULL) THEN 1 ELSE 0 END, leased_by = NULL,
    leased_until = NULL
FROM (SELECT CAST(line.[key] AS INT) AS nth, cell.[id] AS [id]
FROM OPENJSON(CAST(:given AS NVARCHAR(MAX))) AS line CROSS APPLY OPENJSON(line.[value]) WITH ([id] BIGINT '$[0]') AS
    cell) AS given
JOIN duerow_message WITH (INDEX(1), ROWLOCK, UPDLOCK, FORCESEEK) ON duerow_message.id = given.id

-- statement: take_turns
-- Mark rows of groups that are about to be popped as leased, so that no other row of the group is
-- leased.
UPDATE duerow_message
SET leased_by = 'taken away'
FROM (SELECT CAST(line.[key] AS INT) AS nth, cell.[id] AS [id]
FROM OPENJSON(CAST(:given AS NVARCHAR(MAX))) AS line CROSS APPLY OPENJSON(line.[value]) WITH ([id] BIGINT '$[0]') AS
    cell) AS given
JOIN duerow_message WITH (INDEX(1), ROWLOCK, UPDLOCK, FORCESEEK) ON duerow_message.id = given.id
