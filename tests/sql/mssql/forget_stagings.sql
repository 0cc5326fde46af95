-- Take away the notes of what was staged under the given numbers.
DELETE duerow_staging
FROM (SELECT CAST(line.[key] AS INT) AS nth, cell.[id] AS [id]
FROM OPENJSON(CAST(:given AS NVARCHAR(MAX))) AS line CROSS APPLY OPENJSON(line.[value]) WITH ([id] BIGINT '$[0]') AS
    cell) AS given
JOIN duerow_staging WITH (INDEX(1), ROWLOCK, UPDLOCK, FORCESEEK) ON duerow_staging.id = given.id
