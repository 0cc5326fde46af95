-- Read who keeps rows of groups back, each as id: one with a lower id, one that is lent; null: nobody.
SELECT duerow_message.id, duerow_message.leased_by IS NOT NULL AS anon_1, (SELECT other.id
FROM duerow_message AS other
WHERE other.queue = duerow_message.queue AND other."group" = duerow_message."group" AND other.status IN ('new',
    'error') AND other.id < duerow_message.id
ORDER BY other.id
LIMIT 1 OFFSET :param_1) AS anon_2, (SELECT other.id
FROM duerow_message AS other
WHERE other.queue = duerow_message.queue AND other."group" = duerow_message."group" AND other.leased_by IS NOT NULL
    AND other.id != duerow_message.id
LIMIT 1 OFFSET :param_2) AS anon_3, (SELECT other.id
FROM duerow_message AS other
WHERE other.queue = duerow_message.queue AND other."group" = duerow_message."group" AND other.status IN ('new',
    'error') AND other.id < duerow_message.id
ORDER BY other.id
LIMIT 1 OFFSET :param_3) AS anon_4, (SELECT other.id
FROM duerow_message AS other
WHERE other.queue = duerow_message.queue AND other."group" = duerow_message."group" AND other.leased_by IS NOT NULL
    AND other.id != duerow_message.id
LIMIT 1 OFFSET :param_4) AS anon_5
FROM (SELECT given_rows.value AS id
FROM json_each(:given) AS given_rows) AS given
JOIN duerow_message ON duerow_message.id = given.id
