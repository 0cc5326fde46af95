-- Take away the entries that were staged under the given numbers.
DELETE duerow_staged
FROM (SELECT CAST(line.[key] AS INT) AS nth, cell.[staging_id] AS [staging_id]
FROM OPENJSON(CAST(:given AS NVARCHAR(MAX))) AS line CROSS APPLY OPENJSON(line.[value]) WITH ([staging_id] BIGINT
    '$[0]') AS cell) AS given
JOIN duerow_staged WITH (INDEX(1), ROWLOCK, UPDLOCK, FORCESEEK) ON duerow_staged.staging_id = given.staging_id
