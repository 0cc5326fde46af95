-- Hand out `count` ids, ascending.
SELECT nextval('duerow_message_id_seq') AS next_value_1
FROM generate_series(:generate_series_1::INTEGER, CAST(:count::INTEGER AS INTEGER)) AS anon_1
