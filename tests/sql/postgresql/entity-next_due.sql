-- Read when the next row is due, of those due from the bound `floor` on; and the time. Rows have no
-- kinds.
SELECT (SELECT min(sms_message.sending_due_at) AS min_1
FROM sms_message
WHERE sms_message.sending_due_at >= :floor::TIMESTAMP WITH TIME ZONE) AS anon_1, statement_timestamp() AS
    statement_timestamp_1
FROM unnest(CAST(CAST(:given_grouped::VARCHAR AS TEXT) AS BOOLEAN[]), CAST(CAST(:given_priority::VARCHAR AS TEXT) AS
    SMALLINT[])) AS given(grouped, priority)
