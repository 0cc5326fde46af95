-- Hand out `count` ids, ascending.
SELECT NEXT VALUE FOR [duerow_message_id] AS id
FROM OPENJSON('[0' + REPLICATE(CAST(',0' AS VARCHAR(MAX)), CAST(:count AS INT) - 1) + ']')
