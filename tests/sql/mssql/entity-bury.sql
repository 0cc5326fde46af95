-- Stop rows whose token matches for good, with an error; return their receipts.
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
