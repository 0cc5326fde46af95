-- Add parts to sets.
INSERT INTO duerow_part (set_id, part_id, content) SELECT given.set_id, given.part_id, given.content
FROM (SELECT given_rows.`set_id`, given_rows.`part_id`, given_rows.`content`, given_rows.nth_given
FROM JSON_TABLE(:given, '$[*]' COLUMNS (`set_id` BIGINT PATH '$[0]', `part_id` BIGINT PATH '$[1]', `content` LONGTEXT
    CHARACTER
SET utf8mb4 COLLATE utf8mb4_0900_bin PATH '$[2]', nth_given FOR ORDINALITY)) AS given_rows) AS given
