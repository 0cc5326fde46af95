-- Take the parts of sets away.
DELETE duerow_part
FROM (SELECT CAST(line.[key] AS INT) AS nth, cell.[set_id] AS [set_id]
FROM OPENJSON(CAST(:given AS NVARCHAR(MAX))) AS line CROSS APPLY OPENJSON(line.[value]) WITH ([set_id] BIGINT '$[0]')
    AS cell) AS given
JOIN duerow_part WITH (INDEX(1), ROWLOCK, UPDLOCK, FORCESEEK) ON duerow_part.set_id = given.set_id
