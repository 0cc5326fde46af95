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
