-- Add parts to sets.
INSERT INTO duerow_part (set_id, part_id, content) SELECT given.set_id, given.part_id, CAST(given.content AS JSON) AS
    content
FROM unnest(CAST(CAST(:given_set_id::VARCHAR AS TEXT) AS BIGINT[]), CAST(CAST(:given_part_id::VARCHAR AS TEXT) AS
    BIGINT[]), CAST(CAST(:given_content::VARCHAR AS TEXT) AS TEXT[])) AS given(set_id, part_id, content)
