-- Keep the turns of rows that were picked whose lease ended unsettled: as failed, or dead if used up.
INSERT INTO duerow_history (id, token, queue, `key`, kind, payload, headers, `group`, priority, attempts, created_at,
    first_due_at, due_at, moved_to, started_at, finished_at, worker, error, outcome, until) SELECT STRAIGHT_JOIN
    duerow_message.id, duerow_message.token, duerow_message.queue, duerow_message.`key`, duerow_message.kind,
    duerow_message.payload, duerow_message.headers, duerow_message.`group`, duerow_message.priority,
    duerow_message.attempts, duerow_message.created_at, duerow_message.first_due_at, coalesce(duerow_message.place_at,
    duerow_message.first_due_at) AS coalesce_1, NULL AS anon_1, coalesce(duerow_message.last_attempt_at,
    UTC_TIMESTAMP(6)) AS coalesce_2, duerow_message.leased_until, duerow_message.leased_by, concat('{"message":',
    json_quote(concat('was in hand when its worker died: lease of ', duerow_message.leased_by, ' ended at ',
    date_format(duerow_message.leased_until, '%Y-%m-%d %H:%i:%s'), ' UTC, attempt ', duerow_message.attempts, ' of ',
    coalesce(:attempts_in, 'any number'))), ',"traceback":null,"type":"LeaseEnded"}') AS concat_1, 'failed',
    timestampadd(MICROSECOND, :history, UTC_TIMESTAMP(6)) AS timestampadd_1
FROM (SELECT given_rows.`id`
FROM JSON_TABLE(:given, '$[*]' COLUMNS (`id` BIGINT PATH '$')) AS given_rows) AS given INNER
JOIN duerow_message ON duerow_message.id = given.id AND duerow_message.leased_until IS NOT NULL
FOR UPDATE ON DUPLICATE KEY UPDATE until =
VALUES(until)
