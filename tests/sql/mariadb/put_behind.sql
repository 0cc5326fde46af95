-- Take rows of groups out of the line until it is their turn; a turn whose lease ended is over.
SET STATEMENT sql_safe_updates = 0, sql_mode = CONCAT(@@sql_mode, ',SIMULTANEOUS_ASSIGNMENT,STRICT_ALL_TABLES')
FOR UPDATE (SELECT given_rows.`id`
FROM JSON_TABLE(:given, '$[*]' COLUMNS (`id` BIGINT PATH '$')) AS given_rows) AS given STRAIGHT_JOIN duerow_message ON
    duerow_message.id = given.id
SET duerow_message.due_at = NULL, duerow_message.behind_at = duerow_message.due_at, duerow_message.last_error = CASE
    WHEN (duerow_message.leased_until IS NOT NULL) THEN concat('{"message":', json_quote(concat('was in hand when its
    worker died: lease of ', duerow_message.leased_by, ' ended at ', date_format(duerow_message.leased_until,
    '%Y-%m-%d %H:%i:%s'), ' UTC, attempt ', duerow_message.attempts, ' of ', coalesce(:attempts_in, 'any number'))),
    ',"traceback":null,"type":"LeaseEnded"}') ELSE duerow_message.last_error END, duerow_message.token =
    duerow_message.token + CASE WHEN (duerow_message.leased_until IS NOT NULL) THEN 1 ELSE 0 END,
    duerow_message.leased_by = NULL, duerow_message.leased_until = NULL
