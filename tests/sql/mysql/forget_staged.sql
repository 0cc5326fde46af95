-- Take away the entries that were staged under the given numbers.
DELETE /*+ SET_VAR(sql_safe_updates = 0) */ duerow_staged
FROM (SELECT given_rows.`staging_id`, given_rows.nth_given
FROM JSON_TABLE(:given, '$[*]' COLUMNS (`staging_id` BIGINT PATH '$', nth_given FOR ORDINALITY)) AS given_rows) AS
    given STRAIGHT_JOIN duerow_staged ON duerow_staged.staging_id = given.staging_id
