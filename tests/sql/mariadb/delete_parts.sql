-- Take the parts of sets away.
SET STATEMENT sql_safe_updates = 0 FOR DELETE duerow_part
FROM (SELECT given_rows.`set_id`
FROM JSON_TABLE(:given, '$[*]' COLUMNS (`set_id` BIGINT PATH '$')) AS given_rows) AS given STRAIGHT_JOIN duerow_part
    ON duerow_part.set_id = given.set_id
