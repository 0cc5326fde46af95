-- Mark rows of groups that are to be taken away as lent, so that nobody lends others of their groups.
UPDATE /*+ SET_VAR(sql_safe_updates = 0) SET_VAR(sql_mode =
    'STRICT_TRANS_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,ERROR_FOR_DIVISION_BY_ZERO') */ (SELECT given_rows.`id`,
    given_rows.nth_given
FROM JSON_TABLE(:given, '$[*]' COLUMNS (`id` BIGINT PATH '$', nth_given FOR ORDINALITY)) AS given_rows) AS given
    STRAIGHT_JOIN duerow_message ON duerow_message.id = given.id
SET duerow_message.leased_by = 'taken away'
