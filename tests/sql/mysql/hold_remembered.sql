-- Hold the given keys unless they are remembered, also by who commits at this moment; return those
-- held.
INSERT INTO duerow_remembered (queue, `key`, id, until) SELECT given.queue, given.`key`, given.id, :over AS anon_1
FROM (SELECT given_rows.`queue`, given_rows.`key`, given_rows.`id`, given_rows.nth_given
FROM JSON_TABLE(:given, '$[*]' COLUMNS (`queue` VARCHAR(255) CHARACTER
SET utf8mb4 COLLATE utf8mb4_0900_bin PATH '$[0]', `key` VARCHAR(255) CHARACTER
SET utf8mb4 COLLATE utf8mb4_0900_bin PATH '$[1]', `id` BIGINT PATH '$[2]', nth_given FOR ORDINALITY)) AS given_rows)
    AS given
WHERE 1 = 1
ORDER BY given.queue, given.`key` ON DUPLICATE KEY UPDATE id = CASE WHEN (duerow_remembered.until <= UTC_TIMESTAMP(6))
    THEN given.id ELSE duerow_remembered.id END, until = CASE WHEN (duerow_remembered.until <= UTC_TIMESTAMP(6)) THEN
    :over ELSE duerow_remembered.until END; SELECT STRAIGHT_JOIN duerow_remembered.queue, duerow_remembered.`key`
FROM (SELECT given_rows.`queue`, given_rows.`key`, given_rows.`id`, given_rows.nth_given
FROM JSON_TABLE(:given, '$[*]' COLUMNS (`queue` VARCHAR(255) CHARACTER
SET utf8mb4 COLLATE utf8mb4_0900_bin PATH '$[0]', `key` VARCHAR(255) CHARACTER
SET utf8mb4 COLLATE utf8mb4_0900_bin PATH '$[1]', `id` BIGINT PATH '$[2]', nth_given FOR ORDINALITY)) AS given_rows)
    AS given INNER
JOIN duerow_remembered ON duerow_remembered.queue = given.queue AND duerow_remembered.`key` = given.`key` AND
    duerow_remembered.until = :over
FOR UPDATE OF duerow_remembered
