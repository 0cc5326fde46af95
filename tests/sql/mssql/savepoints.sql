-- statement: savepoint
-- Set the savepoint to which `to_savepoint` goes back.
SAVE TRANSACTION duerow_row

-- statement: set_aside
-- Bury rows, leased or not, and write nothing else; return their ids, keys, attempts and groups.
UPDATE duerow_message
SET due_at = NULL, behind_at = NULL, status = 'dead', last_error = given.error, token = CASE WHEN
    (duerow_message.token < 9223372036854775807) THEN duerow_message.token + 1 ELSE 0 END, leased_by = NULL,
    leased_until = NULL
OUTPUT inserted.id, inserted.[key], inserted.attempts, inserted.[group]
FROM (SELECT CAST(line.[key] AS INT) AS nth, cell.[id] AS [id], cell.[error] COLLATE Latin1_General_100_BIN2 AS
    [error]
FROM OPENJSON(CAST(:given AS NVARCHAR(MAX))) AS line CROSS APPLY OPENJSON(line.[value]) WITH ([id] BIGINT '$[0]',
    [error] NVARCHAR(MAX) '$[1]') AS cell) AS given
JOIN duerow_message WITH (INDEX(1), ROWLOCK, UPDLOCK, FORCESEEK) ON duerow_message.id = given.id

-- statement: to_savepoint
-- Undo what was done since `savepoint`.
ROLLBACK TRANSACTION duerow_row
