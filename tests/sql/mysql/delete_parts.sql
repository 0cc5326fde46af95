-- Take the parts of sets away.
DELETE /*+ SET_VAR(sql_safe_updates = 0) */ duerow_part
FROM (SELECT given_rows.`set_id`, given_rows.nth_given
FROM JSON_TABLE(:given, '$[*]' COLUMNS (`set_id` BIGINT PATH '$', nth_given FOR ORDINALITY)) AS given_rows) AS given
    STRAIGHT_JOIN duerow_part ON duerow_part.set_id = given.set_id
