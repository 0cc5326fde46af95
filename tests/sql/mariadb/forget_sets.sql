-- Take the rows of sets away.
SET STATEMENT sql_safe_updates = 0 FOR DELETE duerow_set
FROM (SELECT given_rows.`queue`, given_rows.`correlation`
FROM JSON_TABLE(:given, '$[*]' COLUMNS (`queue` VARCHAR(255) CHARACTER
SET utf8mb4 COLLATE utf8mb4_nopad_bin PATH '$[0]', `correlation` VARCHAR(255) CHARACTER
SET utf8mb4 COLLATE utf8mb4_nopad_bin PATH '$[1]')) AS given_rows) AS given STRAIGHT_JOIN duerow_set ON
    duerow_set.queue = given.queue AND duerow_set.correlation = given.correlation
