-- Take away the rows whose token matches; return their receipts.
SELECT STRAIGHT_JOIN duerow_message.id, duerow_message.token, duerow_message.id AS id__1, UTC_TIMESTAMP(6) AS anon_1
FROM (SELECT given_rows.`id`, given_rows.`token`
FROM JSON_TABLE(:given, '$[*]' COLUMNS (`id` BIGINT PATH '$[0]', `token` BIGINT PATH '$[1]')) AS given_rows) AS given
    INNER
JOIN duerow_message ON duerow_message.id = given.id AND duerow_message.token = given.token
FOR UPDATE;
SET STATEMENT sql_safe_updates = 0 FOR DELETE duerow_message
FROM (SELECT found_rows.`id`
FROM JSON_TABLE(:found, '$[*]' COLUMNS (`id` BIGINT PATH '$')) AS found_rows) AS found STRAIGHT_JOIN duerow_message ON
    duerow_message.id = found.id
