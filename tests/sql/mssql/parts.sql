-- Read the parts of sets, in no order: to ask for one can make a database read the parts of all sets.
SELECT duerow_part.set_id, duerow_part.part_id, duerow_part.content
FROM (SELECT CAST(line.[key] AS INT) AS nth, cell.[id] AS [id]
FROM OPENJSON(CAST(:given AS NVARCHAR(MAX))) AS line CROSS APPLY OPENJSON(line.[value]) WITH ([id] BIGINT '$[0]') AS
    cell) AS given
JOIN duerow_part WITH (FORCESEEK) ON duerow_part.set_id = given.id
