-- Add parts to sets.
INSERT INTO duerow_part (set_id, part_id, content) SELECT given.set_id, given.part_id, given.content
FROM (SELECT json_extract(given_rows.value, '$[0]') AS set_id, json_extract(given_rows.value, '$[1]') AS part_id,
    json_extract(given_rows.value, '$[2]') AS content
FROM json_each(:given) AS given_rows) AS given
