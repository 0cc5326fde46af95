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
