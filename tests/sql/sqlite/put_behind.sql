-- Take rows of groups out of the line until it is their turn; a turn whose lease ended is over.
UPDATE duerow_message
SET due_at=NULL, behind_at=duerow_message.due_at, token=(duerow_message.token + CASE WHEN (duerow_message.leased_until
    IS NOT NULL) THEN 1 ELSE 0 END), leased_by=NULL, leased_until=NULL, last_error=CASE WHEN
    (duerow_message.leased_until IS NOT NULL) THEN json_object('message', CAST('was in hand when its worker died:
    lease of ' AS TEXT) || duerow_message.leased_by || ' ended at ' || strftime('%Y-%m-%d %H:%M:%S',
    duerow_message.leased_until / 1000000, 'unixepoch') || ' UTC, attempt ' || CAST(duerow_message.attempts AS TEXT)
    || ' of ' || coalesce(CAST(:attempts_in AS TEXT), 'any number'), 'traceback', NULL, 'type', 'LeaseEnded') ELSE
    duerow_message.last_error END
FROM (SELECT given_rows.value AS id
FROM json_each(:given) AS given_rows) AS given
WHERE duerow_message.id = given.id
