-- Take away the notes of what was staged under the given numbers.
SET STATEMENT sql_safe_updates = 0 FOR DELETE duerow_staging
FROM (SELECT given_rows.`id`
FROM JSON_TABLE(:given, '$[*]' COLUMNS (`id` BIGINT PATH '$')) AS given_rows) AS given STRAIGHT_JOIN duerow_staging ON
    duerow_staging.id = given.id
