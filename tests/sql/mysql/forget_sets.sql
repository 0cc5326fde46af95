-- Take the rows of sets away.
DELETE /*+ SET_VAR(sql_safe_updates = 0) */ duerow_set
FROM (SELECT given_rows.`queue`, given_rows.`correlation`, given_rows.nth_given
FROM JSON_TABLE(:given, '$[*]' COLUMNS (`queue` VARCHAR(255) CHARACTER
SET utf8mb4 COLLATE utf8mb4_0900_bin PATH '$[0]', `correlation` VARCHAR(255) CHARACTER
SET utf8mb4 COLLATE utf8mb4_0900_bin PATH '$[1]', nth_given FOR ORDINALITY)) AS given_rows) AS given STRAIGHT_JOIN
    duerow_set ON duerow_set.queue = given.queue AND duerow_set.correlation = given.correlation
