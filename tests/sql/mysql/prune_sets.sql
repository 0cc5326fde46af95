-- Take rows of sets away that were complete so long ago that it need not be known any more.
SELECT duerow_set.queue, duerow_set.correlation, UTC_TIMESTAMP(6) AS anon_1
FROM duerow_set
WHERE duerow_set.closed_until <= UTC_TIMESTAMP(6)
ORDER BY duerow_set.closed_until
LIMIT :limit_in
FOR UPDATE SKIP LOCKED; DELETE /*+ SET_VAR(sql_safe_updates = 0) */ duerow_set
FROM (SELECT found_rows.`queue`, found_rows.`correlation`, found_rows.nth_given
FROM JSON_TABLE(:found, '$[*]' COLUMNS (`queue` VARCHAR(255) CHARACTER
SET utf8mb4 COLLATE utf8mb4_0900_bin PATH '$[0]', `correlation` VARCHAR(255) CHARACTER
SET utf8mb4 COLLATE utf8mb4_0900_bin PATH '$[1]', nth_given FOR ORDINALITY)) AS found_rows) AS found STRAIGHT_JOIN
    duerow_set ON duerow_set.queue = found.queue AND duerow_set.correlation = found.correlation
