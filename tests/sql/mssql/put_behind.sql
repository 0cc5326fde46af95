-- Take rows of groups out of the line until it is their turn; a turn whose lease ended is over.
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
