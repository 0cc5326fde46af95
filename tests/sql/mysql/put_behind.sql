-- Take rows of groups out of the line until it is their turn; a turn whose lease ended is over.
UPDATE /*+ SET_VAR(sql_safe_updates = 0) SET_VAR(sql_mode =
    'STRICT_TRANS_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,ERROR_FOR_DIVISION_BY_ZERO') */ (SELECT given_rows.`id`,
    given_rows.nth_given
FROM JSON_TABLE(:given, '$[*]' COLUMNS (`id` BIGINT PATH '$', nth_given FOR ORDINALITY)) AS given_rows) AS given
    STRAIGHT_JOIN duerow_message ON duerow_message.id = given.id
SET duerow_message.behind_at = duerow_message.due_at, duerow_message.last_error = CASE WHEN
    (duerow_message.leased_until IS NOT NULL) THEN concat('{"message":', json_quote(concat('was in hand when its
    worker died: lease of ', duerow_message.leased_by, ' ended at ', date_format(duerow_message.leased_until,
    '%Y-%m-%d %H:%i:%s'), ' UTC, attempt ', duerow_message.attempts, ' of ', coalesce(:attempts_in, 'any number'))),
    ',"traceback":null,"type":"LeaseEnded"}') ELSE duerow_message.last_error END, duerow_message.token =
    duerow_message.token + CASE WHEN (duerow_message.leased_until IS NOT NULL) THEN 1 ELSE 0 END,
    duerow_message.due_at = NULL, duerow_message.leased_by = NULL, duerow_message.leased_until = NULL
