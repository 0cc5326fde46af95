-- Read the parts of sets, in no order: to ask for one can make a database read the parts of all sets.
SELECT STRAIGHT_JOIN duerow_part.set_id, duerow_part.part_id, duerow_part.content
FROM (SELECT given_rows.`id`, given_rows.nth_given
FROM JSON_TABLE(:given, '$[*]' COLUMNS (`id` BIGINT PATH '$', nth_given FOR ORDINALITY)) AS given_rows) AS given INNER
JOIN duerow_part ON duerow_part.set_id = given.id
