-- Read the name of the first queue after a name of which something else than messages is kept, by
-- indexes.
SELECT (SELECT min(duerow_history.queue) AS min_1
FROM duerow_history
WHERE duerow_history.queue > CAST(CAST(:queue_in AS NVARCHAR(4000)) AS VARBINARY(8000))) AS anon_1, (SELECT
    min(duerow_remembered.queue) AS min_2
FROM duerow_remembered
WHERE duerow_remembered.queue > CAST(CAST(:queue_in AS NVARCHAR(4000)) AS VARBINARY(8000))) AS anon_2, (SELECT
    min(duerow_counter.queue) AS min_3
FROM duerow_counter
WHERE duerow_counter.queue > CAST(CAST(:queue_in AS NVARCHAR(4000)) AS VARBINARY(8000))) AS anon_3
