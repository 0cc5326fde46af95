-- Note that a part of a batch stages entries; return the number under which they are kept.
INSERT INTO duerow_staging (batch, part, entries, keyed, grouped, lines, due, staged_at)
VALUES (:batch_in::VARCHAR, :part_in::VARCHAR, :entries_in::INTEGER, :keyed_in, :grouped_in, CAST(:lines_in::VARCHAR
    AS JSON), :due_in::TIMESTAMP WITH TIME ZONE, statement_timestamp())
RETURNING duerow_staging.id
