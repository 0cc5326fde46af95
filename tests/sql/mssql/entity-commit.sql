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
