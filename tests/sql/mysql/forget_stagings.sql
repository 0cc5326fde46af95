-- Take away the notes of what was staged under the given numbers.
DELETE /*+ SET_VAR(sql_safe_updates = 0) */ duerow_staging
FROM (SELECT given_rows.`id`, given_rows.nth_given
FROM JSON_TABLE(:given, '$[*]' COLUMNS (`id` BIGINT PATH '$', nth_given FOR ORDINALITY)) AS given_rows) AS given
    STRAIGHT_JOIN duerow_staging ON duerow_staging.id = given.id
