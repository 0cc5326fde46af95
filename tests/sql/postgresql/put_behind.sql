-- Take rows of groups out of the line until it is their turn; a turn whose lease ended is over.
UPDATE duerow_message
SET due_at=NULL, behind_at=duerow_message.due_at, token=(duerow_message.token + CASE WHEN (duerow_message.leased_until
    IS NOT NULL) THEN 1 ELSE 0 END), leased_by=NULL, leased_until=NULL, last_error=CASE WHEN
    (duerow_message.leased_until IS NOT NULL) THEN CAST(concat('{"message":', to_json(concat('was in hand when its
    worker died: lease of ', duerow_message.leased_by, ' ended at ', to_char(timezone('UTC',
    duerow_message.leased_until), 'YYYY-MM-DD HH24:MI:SS'), ' UTC, attempt ', duerow_message.attempts, ' of ',
    coalesce(CAST(:attempts_in::INTEGER AS TEXT), 'any number'))), ',"traceback":null,"type":"LeaseEnded"}') AS JSON)
    ELSE duerow_message.last_error END
FROM unnest(CAST(CAST(:given_id::VARCHAR AS TEXT) AS BIGINT[])) AS given(id)
WHERE duerow_message.id = given.id
