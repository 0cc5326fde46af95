-- Lock the rows of sets, and add those that are missing; return them, and whether each was complete
-- before.
INSERT INTO duerow_set (queue, correlation, parts) SELECT given.queue, given.correlation, 0
FROM (SELECT given_rows.`queue`, given_rows.`correlation`, given_rows.nth_given
FROM JSON_TABLE(:given, '$[*]' COLUMNS (`queue` VARCHAR(255) CHARACTER
SET utf8mb4 COLLATE utf8mb4_0900_bin PATH '$[0]', `correlation` VARCHAR(255) CHARACTER
SET utf8mb4 COLLATE utf8mb4_0900_bin PATH '$[1]', nth_given FOR ORDINALITY)) AS given_rows) AS given
WHERE 1 = 1
ORDER BY given.queue, given.correlation ON DUPLICATE KEY UPDATE parts = duerow_set.parts; SELECT STRAIGHT_JOIN
    duerow_set.queue, duerow_set.correlation, duerow_set.set_id, duerow_set.parts, duerow_set.closed_until >
    UTC_TIMESTAMP(6) AS anon_1
FROM (SELECT given_rows.`queue`, given_rows.`correlation`, given_rows.nth_given
FROM JSON_TABLE(:given, '$[*]' COLUMNS (`queue` VARCHAR(255) CHARACTER
SET utf8mb4 COLLATE utf8mb4_0900_bin PATH '$[0]', `correlation` VARCHAR(255) CHARACTER
SET utf8mb4 COLLATE utf8mb4_0900_bin PATH '$[1]', nth_given FOR ORDINALITY)) AS given_rows) AS given INNER
JOIN duerow_set ON duerow_set.queue = given.queue AND duerow_set.correlation = given.correlation
FOR UPDATE OF duerow_set
