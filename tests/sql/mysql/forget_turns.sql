-- Take turns away; return their ids.
SELECT STRAIGHT_JOIN duerow_history.id, duerow_history.id AS id__1, duerow_history.token, UTC_TIMESTAMP(6) AS anon_1
FROM (SELECT given_rows.`id`, given_rows.`token`, given_rows.nth_given
FROM JSON_TABLE(:given, '$[*]' COLUMNS (`id` BIGINT PATH '$[0]', `token` BIGINT PATH '$[1]', nth_given FOR
    ORDINALITY)) AS given_rows) AS given INNER
JOIN duerow_history ON duerow_history.id = given.id AND duerow_history.token = given.token
FOR UPDATE; DELETE /*+ SET_VAR(sql_safe_updates = 0) */ duerow_history
FROM (SELECT found_rows.`id`, found_rows.`token`, found_rows.nth_given
FROM JSON_TABLE(:found, '$[*]' COLUMNS (`id` BIGINT PATH '$[0]', `token` BIGINT PATH '$[1]', nth_given FOR
    ORDINALITY)) AS found_rows) AS found STRAIGHT_JOIN duerow_history ON duerow_history.id = found.id AND
    duerow_history.token = found.token
