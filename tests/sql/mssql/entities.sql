-- statement: bury
-- Bury rows whose token matches, with an error; return their receipts.
DECLARE @now DATETIME2(6) = SYSUTCDATETIME(); UPDATE sms_message
SET sending_status = 'dead', sending_due_at = NULL, sending_last_error = COALESCE(given.error COLLATE
    DATABASE_DEFAULT, sms_message.sending_last_error COLLATE DATABASE_DEFAULT), sending_finished_at = @now,
    sending_token = sms_message.sending_token + 1, sending_leased_by = NULL, sending_leased_until = NULL
OUTPUT inserted.id, inserted.sending_token - 1
FROM (SELECT CAST(line.[key] AS INT) AS nth, cell.[id] AS [id], cell.[token] AS [token], cell.[error] COLLATE
    Latin1_General_100_BIN2 AS [error]
FROM OPENJSON(CAST(:given AS NVARCHAR(MAX))) AS line CROSS APPLY OPENJSON(line.[value]) WITH ([id] BIGINT '$[0]',
    [token] BIGINT '$[1]', [error] NVARCHAR(MAX) '$[2]') AS cell) AS given
JOIN sms_message WITH (ROWLOCK, UPDLOCK, FORCESEEK) ON sms_message.id = given.id AND sms_message.sending_token =
    given.token AND sms_message.sending_due_at = sms_message.sending_leased_until

-- statement: commit
-- Mark the rows whose token and due time match as done, or delete them; return their receipts.
DECLARE @now DATETIME2(6) = SYSUTCDATETIME(); UPDATE sms_message
SET sending_status = 'done', sending_due_at = NULL, sending_last_error = NULL, sending_finished_at = @now,
    sending_token = sms_message.sending_token + 1, sending_leased_by = NULL, sending_leased_until = NULL
OUTPUT inserted.id, inserted.sending_token - 1
FROM (SELECT CAST(line.[key] AS INT) AS nth, cell.[id] AS [id], cell.[token] AS [token]
FROM OPENJSON(CAST(:given AS NVARCHAR(MAX))) AS line CROSS APPLY OPENJSON(line.[value]) WITH ([id] BIGINT '$[0]',
    [token] BIGINT '$[1]') AS cell) AS given
JOIN sms_message WITH (ROWLOCK, UPDLOCK, FORCESEEK) ON sms_message.id = given.id AND sms_message.sending_token =
    given.token AND sms_message.sending_due_at = sms_message.sending_leased_until

-- statement: commit-deletes
-- Mark the rows whose token and due time match as done, or delete them; return their receipts.
DELETE sms_message
OUTPUT deleted.id, deleted.sending_token
FROM (SELECT CAST(line.[key] AS INT) AS nth, cell.[id] AS [id], cell.[token] AS [token]
FROM OPENJSON(CAST(:given AS NVARCHAR(MAX))) AS line CROSS APPLY OPENJSON(line.[value]) WITH ([id] BIGINT '$[0]',
    [token] BIGINT '$[1]') AS cell) AS given
JOIN sms_message WITH (ROWLOCK, UPDLOCK, FORCESEEK) ON sms_message.id = given.id AND sms_message.sending_token =
    given.token AND sms_message.sending_due_at = sms_message.sending_leased_until

-- statement: commit-deletes-key_of_two
-- Mark the rows whose token and due time match as done, or delete them; return their receipts.
DELETE shipment
OUTPUT deleted.tenant, deleted.number, deleted.sending_token
FROM (SELECT CAST(line.[key] AS INT) AS nth, CAST(cell.[id_1] AS UNIQUEIDENTIFIER) AS [id_1], cell.[id_2] AS [id_2],
    cell.[token] AS [token]
FROM OPENJSON(CAST(:given AS NVARCHAR(MAX))) AS line CROSS APPLY OPENJSON(line.[value]) WITH ([id_1] NVARCHAR(4000)
    '$[0]', [id_2] INT '$[1]', [token] BIGINT '$[2]') AS cell) AS given
JOIN shipment WITH (ROWLOCK, UPDLOCK, FORCESEEK) ON shipment.tenant = given.id_1 AND shipment.number = given.id_2 AND
    shipment.sending_token = given.token AND shipment.sending_due_at = shipment.sending_leased_until

-- statement: commit-deletes-key_of_two-of_shared
-- Mark the rows whose token and due time match as done, or delete them; return their receipts.
DELETE shipment
OUTPUT deleted.tenant, deleted.number, deleted.sending_token
FROM (SELECT CAST(line.[key] AS INT) AS nth, cell.[id_2] AS [id_2], CAST(:given_id_1 AS UNIQUEIDENTIFIER) AS [id_1],
    CAST(:given_token AS BIGINT) AS [token]
FROM OPENJSON(CAST(:given AS NVARCHAR(MAX))) AS line CROSS APPLY OPENJSON(line.[value]) WITH ([id_2] INT '$[0]') AS
    cell) AS given
JOIN shipment WITH (ROWLOCK, UPDLOCK, FORCESEEK) ON shipment.tenant = given.id_1 AND shipment.number = given.id_2 AND
    shipment.sending_token = given.token AND shipment.sending_due_at = shipment.sending_leased_until

-- statement: commit-deletes-of_shared
-- Mark the rows whose token and due time match as done, or delete them; return their receipts.
DELETE sms_message
OUTPUT deleted.id, deleted.sending_token
FROM (SELECT CAST(line.[key] AS INT) AS nth, cell.[id] AS [id], CAST(:given_token AS BIGINT) AS [token]
FROM OPENJSON(CAST(:given AS NVARCHAR(MAX))) AS line CROSS APPLY OPENJSON(line.[value]) WITH ([id] BIGINT '$[0]') AS
    cell) AS given
JOIN sms_message WITH (ROWLOCK, UPDLOCK, FORCESEEK) ON sms_message.id = given.id AND sms_message.sending_token =
    given.token AND sms_message.sending_due_at = sms_message.sending_leased_until

-- statement: extend
-- Extend leases to now + lease; return id, token and the new end for rows that match and are not
-- locked.
DECLARE @now DATETIME2(6) = SYSUTCDATETIME(); UPDATE sms_message
SET sending_due_at = dateadd(MICROSECOND, CAST(:lease AS BIGINT) % 1000000, dateadd(SECOND, (CAST(:lease AS BIGINT) /
    1000000) % 86400, dateadd(DAY, (CAST(:lease AS BIGINT) / 1000000) / 86400, @now))), sending_leased_until =
    dateadd(MICROSECOND, CAST(:lease AS BIGINT) % 1000000, dateadd(SECOND, (CAST(:lease AS BIGINT) / 1000000) % 86400,
    dateadd(DAY, (CAST(:lease AS BIGINT) / 1000000) / 86400, @now)))
OUTPUT inserted.id, inserted.sending_token, inserted.sending_leased_until
FROM (SELECT sms_message.id AS id
FROM (SELECT CAST(line.[key] AS INT) AS nth, cell.[id] AS [id], cell.[token] AS [token]
FROM OPENJSON(CAST(:given AS NVARCHAR(MAX))) AS line CROSS APPLY OPENJSON(line.[value]) WITH ([id] BIGINT '$[0]',
    [token] BIGINT '$[1]') AS cell) AS given
JOIN sms_message WITH (FORCESEEK, ROWLOCK, UPDLOCK, READPAST) ON sms_message.id = given.id AND
    sms_message.sending_token = given.token AND sms_message.sending_due_at = sms_message.sending_leased_until) AS
    picked
JOIN sms_message WITH (ROWLOCK, UPDLOCK, READPAST, FORCESEEK) ON sms_message.id = picked.id

-- statement: extend-key_of_two
-- Extend leases to now + lease; return id, token and the new end for rows that match and are not
-- locked.
DECLARE @now DATETIME2(6) = SYSUTCDATETIME(); UPDATE shipment
SET sending_due_at = dateadd(MICROSECOND, CAST(:lease AS BIGINT) % 1000000, dateadd(SECOND, (CAST(:lease AS BIGINT) /
    1000000) % 86400, dateadd(DAY, (CAST(:lease AS BIGINT) / 1000000) / 86400, @now))), sending_leased_until =
    dateadd(MICROSECOND, CAST(:lease AS BIGINT) % 1000000, dateadd(SECOND, (CAST(:lease AS BIGINT) / 1000000) % 86400,
    dateadd(DAY, (CAST(:lease AS BIGINT) / 1000000) / 86400, @now)))
OUTPUT inserted.tenant, inserted.number, inserted.sending_token, inserted.sending_leased_until
FROM (SELECT shipment.tenant AS tenant, shipment.number AS number
FROM (SELECT CAST(line.[key] AS INT) AS nth, CAST(cell.[id_1] AS UNIQUEIDENTIFIER) AS [id_1], cell.[id_2] AS [id_2],
    cell.[token] AS [token]
FROM OPENJSON(CAST(:given AS NVARCHAR(MAX))) AS line CROSS APPLY OPENJSON(line.[value]) WITH ([id_1] NVARCHAR(4000)
    '$[0]', [id_2] INT '$[1]', [token] BIGINT '$[2]') AS cell) AS given
JOIN shipment WITH (FORCESEEK, ROWLOCK, UPDLOCK, READPAST) ON shipment.tenant = given.id_1 AND shipment.number =
    given.id_2 AND shipment.sending_token = given.token AND shipment.sending_due_at = shipment.sending_leased_until)
    AS picked
JOIN shipment WITH (ROWLOCK, UPDLOCK, READPAST, FORCESEEK) ON shipment.tenant = picked.tenant AND shipment.number =
    picked.number

-- statement: extend-of_one
-- Extend leases to now + lease; return id, token and the new end for rows that match and are not
-- locked.
DECLARE @now DATETIME2(6) = SYSUTCDATETIME(); UPDATE sms_message
SET sending_due_at = dateadd(MICROSECOND, CAST(:lease AS BIGINT) % 1000000, dateadd(SECOND, (CAST(:lease AS BIGINT) /
    1000000) % 86400, dateadd(DAY, (CAST(:lease AS BIGINT) / 1000000) / 86400, @now))), sending_leased_until =
    dateadd(MICROSECOND, CAST(:lease AS BIGINT) % 1000000, dateadd(SECOND, (CAST(:lease AS BIGINT) / 1000000) % 86400,
    dateadd(DAY, (CAST(:lease AS BIGINT) / 1000000) / 86400, @now)))
OUTPUT inserted.id, inserted.sending_token, inserted.sending_leased_until
FROM (SELECT sms_message.id AS id
FROM (SELECT 1 AS nth, CAST(:given_id AS BIGINT) AS [id], CAST(:given_token AS BIGINT) AS [token]) AS given
JOIN sms_message WITH (FORCESEEK, ROWLOCK, UPDLOCK, READPAST) ON sms_message.id = given.id AND
    sms_message.sending_token = given.token AND sms_message.sending_due_at = sms_message.sending_leased_until) AS
    picked
JOIN sms_message WITH (ROWLOCK, UPDLOCK, READPAST, FORCESEEK) ON sms_message.id = picked.id

-- statement: extend-of_shared
-- Extend leases to now + lease; return id, token and the new end for rows that match and are not
-- locked.
DECLARE @now DATETIME2(6) = SYSUTCDATETIME(); UPDATE sms_message
SET sending_due_at = dateadd(MICROSECOND, CAST(:lease AS BIGINT) % 1000000, dateadd(SECOND, (CAST(:lease AS BIGINT) /
    1000000) % 86400, dateadd(DAY, (CAST(:lease AS BIGINT) / 1000000) / 86400, @now))), sending_leased_until =
    dateadd(MICROSECOND, CAST(:lease AS BIGINT) % 1000000, dateadd(SECOND, (CAST(:lease AS BIGINT) / 1000000) % 86400,
    dateadd(DAY, (CAST(:lease AS BIGINT) / 1000000) / 86400, @now)))
OUTPUT inserted.id, inserted.sending_token, inserted.sending_leased_until
FROM (SELECT sms_message.id AS id
FROM (SELECT CAST(line.[key] AS INT) AS nth, cell.[id] AS [id], CAST(:given_token AS BIGINT) AS [token]
FROM OPENJSON(CAST(:given AS NVARCHAR(MAX))) AS line CROSS APPLY OPENJSON(line.[value]) WITH ([id] BIGINT '$[0]') AS
    cell) AS given
JOIN sms_message WITH (FORCESEEK, ROWLOCK, UPDLOCK, READPAST) ON sms_message.id = given.id AND
    sms_message.sending_token = given.token AND sms_message.sending_due_at = sms_message.sending_leased_until) AS
    picked
JOIN sms_message WITH (ROWLOCK, UPDLOCK, READPAST, FORCESEEK) ON sms_message.id = picked.id

-- statement: kept
-- Read id, token and lease end of the rows whose token and due time match.
SELECT sms_message.id, sms_message.sending_token, sms_message.sending_leased_until
FROM (SELECT CAST(line.[key] AS INT) AS nth, cell.[id] AS [id], cell.[token] AS [token]
FROM OPENJSON(CAST(:given AS NVARCHAR(MAX))) AS line CROSS APPLY OPENJSON(line.[value]) WITH ([id] BIGINT '$[0]',
    [token] BIGINT '$[1]') AS cell) AS given
JOIN sms_message WITH (FORCESEEK) ON sms_message.id = given.id AND sms_message.sending_token = given.token AND
    sms_message.sending_due_at = sms_message.sending_leased_until

-- statement: named
-- Read rows by their ids.
DECLARE @now DATETIME2(6) = SYSUTCDATETIME(); SELECT sms_message.id, 'sms_message.sending', 'null', 'json', NULL AS
    anon_1, NULL AS anon__1, NULL AS anon__2, 0, sms_message.sending_status, sms_message.sending_due_at,
    COALESCE(sms_message.sending_first_due_at, sms_message.sending_due_at, sms_message.sending_place_at, @now) AS
    coalesce_1, sms_message.sending_attempts, sms_message.sending_token, CASE WHEN (sms_message.sending_due_at =
    sms_message.sending_leased_until) THEN sms_message.sending_leased_by END AS anon_2, CASE WHEN
    (sms_message.sending_due_at = sms_message.sending_leased_until) THEN sms_message.sending_leased_until END AS
    anon_3, COALESCE(sms_message.sending_first_due_at, sms_message.sending_due_at, sms_message.sending_place_at, @now)
    AS coalesce__1, sms_message.sending_last_attempt_at, sms_message.sending_last_error
FROM (SELECT CAST(line.[key] AS INT) AS nth, cell.[id] AS [id]
FROM OPENJSON(CAST(:given AS NVARCHAR(MAX))) AS line CROSS APPLY OPENJSON(line.[value]) WITH ([id] BIGINT '$[0]') AS
    cell) AS given
JOIN sms_message WITH (FORCESEEK) ON sms_message.id = given.id

-- statement: next_due
-- Read when the next row becomes due, from the bound `floor` on, and the current time. Rows have no
-- kinds.
DECLARE @now DATETIME2(6) = SYSUTCDATETIME(); SELECT given.queue, (SELECT min(sms_message.sending_due_at) AS min_1
FROM sms_message
WHERE sms_message.sending_due_at >= CAST(:floor AS DATETIME2(6))) AS anon_1, @now AS anon_2
FROM (SELECT CAST(line.[key] AS INT) AS nth, CAST(CAST(cell.[queue] AS NVARCHAR(4000)) AS VARBINARY(8000)) AS [queue],
    cell.[grouped] AS [grouped], cell.[priority] AS [priority]
FROM OPENJSON(CAST(:given AS NVARCHAR(MAX))) AS line CROSS APPLY OPENJSON(line.[value]) WITH ([queue] NVARCHAR(4000)
    '$[0]', [grouped] BIT '$[1]', [priority] SMALLINT '$[2]') AS cell) AS given

-- statement: release
-- Restore the place in line and the number of attempts of rows whose token matches; return their
-- receipts.
UPDATE sms_message
SET sending_due_at = COALESCE(given.due, sms_message.sending_place_at, sms_message.sending_first_due_at),
    sending_attempts = sms_message.sending_attempts - 1, sending_token = sms_message.sending_token + 1,
    sending_leased_by = NULL, sending_leased_until = NULL
OUTPUT inserted.id, inserted.sending_token - 1
FROM (SELECT CAST(line.[key] AS INT) AS nth, cell.[id] AS [id], cell.[token] AS [token], cell.[due] AS [due]
FROM OPENJSON(CAST(:given AS NVARCHAR(MAX))) AS line CROSS APPLY OPENJSON(line.[value]) WITH ([id] BIGINT '$[0]',
    [token] BIGINT '$[1]', [due] DATETIME2(6) '$[2]') AS cell) AS given
JOIN sms_message WITH (ROWLOCK, UPDLOCK, FORCESEEK) ON sms_message.id = given.id AND sms_message.sending_token =
    given.token AND sms_message.sending_due_at = sms_message.sending_leased_until

-- statement: reserve
-- Lease the oldest due rows of a line without groups until now + lease, or bury them if attempts are
-- used up.
DECLARE @now DATETIME2(6) = SYSUTCDATETIME(); UPDATE sms_message
SET sending_status = CASE WHEN (sms_message.sending_due_at = sms_message.sending_leased_until AND
    sms_message.sending_attempts >= CAST(:attempts_in AS INT)) THEN 'dead' ELSE CASE WHEN (sms_message.sending_status
    = 'dead') THEN 'error' WHEN (sms_message.sending_status = 'done') THEN 'new' ELSE sms_message.sending_status END
    END, sending_due_at = CASE WHEN (sms_message.sending_due_at = sms_message.sending_leased_until AND
    sms_message.sending_attempts >= CAST(:attempts_in AS INT)) THEN NULL ELSE dateadd(MICROSECOND, CAST(:lease AS
    BIGINT) % 1000000, dateadd(SECOND, (CAST(:lease AS BIGINT) / 1000000) % 86400, dateadd(DAY, (CAST(:lease AS
    BIGINT) / 1000000) / 86400, @now))) END, sending_place_at = sms_message.sending_due_at, sending_attempts =
    sms_message.sending_attempts + CASE WHEN (sms_message.sending_due_at = sms_message.sending_leased_until AND
    sms_message.sending_attempts >= CAST(:attempts_in AS INT)) THEN 0 ELSE 1 END, sending_token =
    sms_message.sending_token + 1, sending_leased_by = CASE WHEN (sms_message.sending_due_at =
    sms_message.sending_leased_until AND sms_message.sending_attempts >= CAST(:attempts_in AS INT)) THEN NULL ELSE
    :consumer END, sending_leased_until = CASE WHEN (sms_message.sending_due_at = sms_message.sending_leased_until AND
    sms_message.sending_attempts >= CAST(:attempts_in AS INT)) THEN NULL ELSE dateadd(MICROSECOND, CAST(:lease AS
    BIGINT) % 1000000, dateadd(SECOND, (CAST(:lease AS BIGINT) / 1000000) % 86400, dateadd(DAY, (CAST(:lease AS
    BIGINT) / 1000000) / 86400, @now))) END, sending_last_attempt_at = CASE WHEN (sms_message.sending_due_at =
    sms_message.sending_leased_until AND sms_message.sending_attempts >= CAST(:attempts_in AS INT)) THEN
    sms_message.sending_last_attempt_at ELSE @now END, sending_last_error = CASE WHEN (sms_message.sending_due_at =
    sms_message.sending_leased_until) THEN concat('{"message":"', string_escape(concat('was in hand when its worker
    died: lease of ', sms_message.sending_leased_by, ' ended at ', convert(VARCHAR(19),
    sms_message.sending_leased_until, 120), ' UTC, attempt ', sms_message.sending_attempts, ' of ',
    COALESCE(CAST(CAST(:attempts_in AS INT) AS NVARCHAR(20)), 'any number')), 'json'),
    '","traceback":null,"type":"LeaseEnded"}') ELSE sms_message.sending_last_error END, sending_finished_at = CASE
    WHEN (sms_message.sending_due_at = sms_message.sending_leased_until AND sms_message.sending_attempts >=
    CAST(:attempts_in AS INT)) THEN @now ELSE NULL END
OUTPUT inserted.id, 'null', 'json', NULL, NULL, inserted.sending_status, COALESCE(inserted.sending_first_due_at,
    inserted.sending_place_at), NULL, inserted.sending_place_at, inserted.sending_attempts, inserted.sending_token,
    datediff_big(MICROSECOND, CAST('1970-01-01' AS DATETIME2(6)), dateadd(MICROSECOND, CAST(:lease AS BIGINT) %
    1000000, dateadd(SECOND, (CAST(:lease AS BIGINT) / 1000000) % 86400, dateadd(DAY, (CAST(:lease AS BIGINT) /
    1000000) / 86400, @now)))), inserted.sending_last_error
FROM (SELECT TOP (CAST(:limit_in AS INT)) sms_message.id AS id
FROM sms_message WITH (INDEX(ix_sms_message_sending_due), ROWLOCK, UPDLOCK, READPAST)
WHERE sms_message.sending_due_at <= @now AND sms_message.sending_due_at IS NOT NULL
ORDER BY sms_message.sending_due_at, sms_message.id) AS picked
JOIN sms_message WITH (ROWLOCK, UPDLOCK, READPAST, FORCESEEK) ON sms_message.id = picked.id AND CASE WHEN
    (sms_message.sending_due_at <= @now AND sms_message.sending_due_at IS NOT NULL) THEN 1 ELSE 0 END = 1

-- statement: reserve-from_floor
-- Lease the oldest due rows of a line without groups until now + lease, or bury them if attempts are
-- used up.
DECLARE @now DATETIME2(6) = SYSUTCDATETIME(); UPDATE sms_message
SET sending_status = CASE WHEN (sms_message.sending_due_at = sms_message.sending_leased_until AND
    sms_message.sending_attempts >= CAST(:attempts_in AS INT)) THEN 'dead' ELSE CASE WHEN (sms_message.sending_status
    = 'dead') THEN 'error' WHEN (sms_message.sending_status = 'done') THEN 'new' ELSE sms_message.sending_status END
    END, sending_due_at = CASE WHEN (sms_message.sending_due_at = sms_message.sending_leased_until AND
    sms_message.sending_attempts >= CAST(:attempts_in AS INT)) THEN NULL ELSE dateadd(MICROSECOND, CAST(:lease AS
    BIGINT) % 1000000, dateadd(SECOND, (CAST(:lease AS BIGINT) / 1000000) % 86400, dateadd(DAY, (CAST(:lease AS
    BIGINT) / 1000000) / 86400, @now))) END, sending_place_at = sms_message.sending_due_at, sending_attempts =
    sms_message.sending_attempts + CASE WHEN (sms_message.sending_due_at = sms_message.sending_leased_until AND
    sms_message.sending_attempts >= CAST(:attempts_in AS INT)) THEN 0 ELSE 1 END, sending_token =
    sms_message.sending_token + 1, sending_leased_by = CASE WHEN (sms_message.sending_due_at =
    sms_message.sending_leased_until AND sms_message.sending_attempts >= CAST(:attempts_in AS INT)) THEN NULL ELSE
    :consumer END, sending_leased_until = CASE WHEN (sms_message.sending_due_at = sms_message.sending_leased_until AND
    sms_message.sending_attempts >= CAST(:attempts_in AS INT)) THEN NULL ELSE dateadd(MICROSECOND, CAST(:lease AS
    BIGINT) % 1000000, dateadd(SECOND, (CAST(:lease AS BIGINT) / 1000000) % 86400, dateadd(DAY, (CAST(:lease AS
    BIGINT) / 1000000) / 86400, @now))) END, sending_last_attempt_at = CASE WHEN (sms_message.sending_due_at =
    sms_message.sending_leased_until AND sms_message.sending_attempts >= CAST(:attempts_in AS INT)) THEN
    sms_message.sending_last_attempt_at ELSE @now END, sending_last_error = CASE WHEN (sms_message.sending_due_at =
    sms_message.sending_leased_until) THEN concat('{"message":"', string_escape(concat('was in hand when its worker
    died: lease of ', sms_message.sending_leased_by, ' ended at ', convert(VARCHAR(19),
    sms_message.sending_leased_until, 120), ' UTC, attempt ', sms_message.sending_attempts, ' of ',
    COALESCE(CAST(CAST(:attempts_in AS INT) AS NVARCHAR(20)), 'any number')), 'json'),
    '","traceback":null,"type":"LeaseEnded"}') ELSE sms_message.sending_last_error END, sending_finished_at = CASE
    WHEN (sms_message.sending_due_at = sms_message.sending_leased_until AND sms_message.sending_attempts >=
    CAST(:attempts_in AS INT)) THEN @now ELSE NULL END
OUTPUT inserted.id, 'null', 'json', NULL, NULL, inserted.sending_status, COALESCE(inserted.sending_first_due_at,
    inserted.sending_place_at), NULL, inserted.sending_place_at, inserted.sending_attempts, inserted.sending_token,
    datediff_big(MICROSECOND, CAST('1970-01-01' AS DATETIME2(6)), dateadd(MICROSECOND, CAST(:lease AS BIGINT) %
    1000000, dateadd(SECOND, (CAST(:lease AS BIGINT) / 1000000) % 86400, dateadd(DAY, (CAST(:lease AS BIGINT) /
    1000000) / 86400, @now)))), inserted.sending_last_error
FROM (SELECT TOP (CAST(:limit_in AS INT)) sms_message.id AS id
FROM sms_message WITH (INDEX(ix_sms_message_sending_due), ROWLOCK, UPDLOCK, READPAST)
WHERE sms_message.sending_due_at <= @now AND sms_message.sending_due_at >= CAST(:floor AS DATETIME2(6)) AND
    sms_message.sending_due_at IS NOT NULL
ORDER BY sms_message.sending_due_at, sms_message.id) AS picked
JOIN sms_message WITH (ROWLOCK, UPDLOCK, READPAST, FORCESEEK) ON sms_message.id = picked.id AND CASE WHEN
    (sms_message.sending_due_at <= @now AND sms_message.sending_due_at >= CAST(:floor AS DATETIME2(6)) AND
    sms_message.sending_due_at IS NOT NULL) THEN 1 ELSE 0 END = 1

-- statement: reserve-key_of_two
-- Lease the oldest due rows of a line without groups until now + lease, or bury them if attempts are
-- used up.
DECLARE @now DATETIME2(6) = SYSUTCDATETIME(); UPDATE shipment
SET sending_status = CASE WHEN (shipment.sending_due_at = shipment.sending_leased_until AND shipment.sending_attempts
    >= CAST(:attempts_in AS INT)) THEN 'dead' ELSE CASE WHEN (shipment.sending_status = 'dead') THEN 'error' WHEN
    (shipment.sending_status = 'done') THEN 'new' ELSE shipment.sending_status END END, sending_due_at = CASE WHEN
    (shipment.sending_due_at = shipment.sending_leased_until AND shipment.sending_attempts >= CAST(:attempts_in AS
    INT)) THEN NULL ELSE dateadd(MICROSECOND, CAST(:lease AS BIGINT) % 1000000, dateadd(SECOND, (CAST(:lease AS
    BIGINT) / 1000000) % 86400, dateadd(DAY, (CAST(:lease AS BIGINT) / 1000000) / 86400, @now))) END, sending_place_at
    = shipment.sending_due_at, sending_attempts = shipment.sending_attempts + CASE WHEN (shipment.sending_due_at =
    shipment.sending_leased_until AND shipment.sending_attempts >= CAST(:attempts_in AS INT)) THEN 0 ELSE 1 END,
    sending_token = shipment.sending_token + 1, sending_leased_by = CASE WHEN (shipment.sending_due_at =
    shipment.sending_leased_until AND shipment.sending_attempts >= CAST(:attempts_in AS INT)) THEN NULL ELSE :consumer
    END, sending_leased_until = CASE WHEN (shipment.sending_due_at = shipment.sending_leased_until AND
    shipment.sending_attempts >= CAST(:attempts_in AS INT)) THEN NULL ELSE dateadd(MICROSECOND, CAST(:lease AS BIGINT)
    % 1000000, dateadd(SECOND, (CAST(:lease AS BIGINT) / 1000000) % 86400, dateadd(DAY, (CAST(:lease AS BIGINT) /
    1000000) / 86400, @now))) END, sending_last_attempt_at = CASE WHEN (shipment.sending_due_at =
    shipment.sending_leased_until AND shipment.sending_attempts >= CAST(:attempts_in AS INT)) THEN
    shipment.sending_last_attempt_at ELSE @now END, sending_last_error = CASE WHEN (shipment.sending_due_at =
    shipment.sending_leased_until) THEN concat('{"message":"', string_escape(concat('was in hand when its worker died:
    lease of ', shipment.sending_leased_by, ' ended at ', convert(VARCHAR(19), shipment.sending_leased_until, 120), '
    UTC, attempt ', shipment.sending_attempts, ' of ', COALESCE(CAST(CAST(:attempts_in AS INT) AS NVARCHAR(20)), 'any
    number')), 'json'), '","traceback":null,"type":"LeaseEnded"}') ELSE shipment.sending_last_error END,
    sending_finished_at = CASE WHEN (shipment.sending_due_at = shipment.sending_leased_until AND
    shipment.sending_attempts >= CAST(:attempts_in AS INT)) THEN @now ELSE NULL END
OUTPUT inserted.tenant, inserted.number, 'null', 'json', NULL, NULL, inserted.sending_status,
    COALESCE(inserted.sending_first_due_at, inserted.sending_place_at), NULL, inserted.sending_place_at,
    inserted.sending_attempts, inserted.sending_token, datediff_big(MICROSECOND, CAST('1970-01-01' AS DATETIME2(6)),
    dateadd(MICROSECOND, CAST(:lease AS BIGINT) % 1000000, dateadd(SECOND, (CAST(:lease AS BIGINT) / 1000000) % 86400,
    dateadd(DAY, (CAST(:lease AS BIGINT) / 1000000) / 86400, @now)))), inserted.sending_last_error
FROM (SELECT TOP (CAST(:limit_in AS INT)) shipment.tenant AS tenant, shipment.number AS number
FROM shipment WITH (INDEX(ix_shipment_sending_due), ROWLOCK, UPDLOCK, READPAST)
WHERE shipment.sending_due_at <= @now AND shipment.sending_due_at IS NOT NULL
ORDER BY shipment.sending_due_at, shipment.tenant, shipment.number) AS picked
JOIN shipment WITH (ROWLOCK, UPDLOCK, READPAST, FORCESEEK) ON shipment.tenant = picked.tenant AND shipment.number =
    picked.number AND CASE WHEN (shipment.sending_due_at <= @now AND shipment.sending_due_at IS NOT NULL) THEN 1 ELSE
    0 END = 1

-- statement: roll_back
-- Give rows whose token matches a new due time and an error; return their receipts.
DECLARE @now DATETIME2(6) = SYSUTCDATETIME(); UPDATE sms_message
SET sending_status = 'error', sending_due_at = dateadd(MICROSECOND, given.delay % 1000000, dateadd(SECOND,
    (given.delay / 1000000) % 86400, dateadd(DAY, (given.delay / 1000000) / 86400, @now))), sending_last_error =
    COALESCE(given.error COLLATE DATABASE_DEFAULT, sms_message.sending_last_error COLLATE DATABASE_DEFAULT),
    sending_token = sms_message.sending_token + 1, sending_leased_by = NULL, sending_leased_until = NULL
OUTPUT inserted.id, inserted.sending_token - 1
FROM (SELECT CAST(line.[key] AS INT) AS nth, cell.[id] AS [id], cell.[token] AS [token], cell.[delay] AS [delay],
    cell.[error] COLLATE Latin1_General_100_BIN2 AS [error]
FROM OPENJSON(CAST(:given AS NVARCHAR(MAX))) AS line CROSS APPLY OPENJSON(line.[value]) WITH ([id] BIGINT '$[0]',
    [token] BIGINT '$[1]', [delay] BIGINT '$[2]', [error] NVARCHAR(MAX) '$[3]') AS cell) AS given
JOIN sms_message WITH (ROWLOCK, UPDLOCK, FORCESEEK) ON sms_message.id = given.id AND sms_message.sending_token =
    given.token AND sms_message.sending_due_at = sms_message.sending_leased_until
