-- Give rows whose token matches their place in line and their attempt back; return their receipts.
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
