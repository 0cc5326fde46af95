-- Read who keeps rows of groups back, each as id: one with a lower id, one that is lent; null: nobody.
SELECT STRAIGHT_JOIN duerow_message.id, duerow_message.leased_by IS NOT NULL AS anon_1, nullif(least((SELECT other.id
FROM duerow_message AS other
WHERE other.queue = duerow_message.queue AND other.live_group = duerow_message.`group`
ORDER BY other.id
LIMIT 1), duerow_message.id), duerow_message.id) AS nullif_1, (SELECT other.id
FROM duerow_message AS other
WHERE other.queue = duerow_message.queue AND other.lent_group = duerow_message.`group` AND other.id !=
    duerow_message.id
LIMIT 1) AS anon_2, nullif(least((SELECT other.id
FROM duerow_message AS other
WHERE other.queue = duerow_message.queue AND other.live_group = duerow_message.`group`
ORDER BY other.id
LIMIT 1 FOR SHARE SKIP LOCKED), duerow_message.id), duerow_message.id) AS nullif_2, (SELECT other.id
FROM duerow_message AS other
WHERE other.queue = duerow_message.queue AND other.lent_group = duerow_message.`group` AND other.id !=
    duerow_message.id
LIMIT 1 FOR SHARE SKIP LOCKED) AS anon_3
FROM (SELECT given_rows.`id`, given_rows.nth_given
FROM JSON_TABLE(:given, '$[*]' COLUMNS (`id` BIGINT PATH '$', nth_given FOR ORDINALITY)) AS given_rows) AS given INNER
JOIN duerow_message ON duerow_message.id = given.id
