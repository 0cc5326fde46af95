-- Change rows whose token matches unless a lease on them runs and `even_if_leased` is false; return
-- their ids.
SELECT STRAIGHT_JOIN duerow_message.id, duerow_message.id AS id__1, UTC_TIMESTAMP(6) AS anon_1
FROM (SELECT given_rows.`id`, given_rows.`token`
FROM JSON_TABLE(:given, '$[*]' COLUMNS (`id` BIGINT PATH '$[0]', `token` BIGINT PATH '$[1]')) AS given_rows) AS given
    INNER
JOIN duerow_message ON duerow_message.id = given.id AND duerow_message.token = given.token AND duerow_message.queue =
    :queue_in AND duerow_message.status != 'done' AND (:even_if_leased = 1 OR duerow_message.leased_until IS NULL OR
    duerow_message.leased_until <= UTC_TIMESTAMP(6))
FOR UPDATE;
SET STATEMENT sql_safe_updates = 0, sql_mode = CONCAT(@@sql_mode, ',SIMULTANEOUS_ASSIGNMENT,STRICT_ALL_TABLES')
FOR UPDATE duerow_message FORCE INDEX (PRIMARY)
SET duerow_message.due_at = NULL, duerow_message.behind_at = NULL, duerow_message.token = duerow_message.token + 1,
    duerow_message.leased_by = NULL, duerow_message.leased_until = NULL
WHERE duerow_message.id IN :found
