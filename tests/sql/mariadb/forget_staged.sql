-- Take away the entries that were staged under the given numbers.
SET STATEMENT sql_safe_updates = 0 FOR DELETE duerow_staged
FROM (SELECT given_rows.`staging_id`
FROM JSON_TABLE(:given, '$[*]' COLUMNS (`staging_id` BIGINT PATH '$')) AS given_rows) AS given STRAIGHT_JOIN
    duerow_staged ON duerow_staged.staging_id = given.staging_id
