-- Note that a part of a batch stages entries; return the number under which they are kept.
INSERT INTO duerow_staging (batch, part, entries, keyed, grouped, `lines`, due, staged_at)
VALUES (:batch_in, :part_in, :entries_in, :keyed_in, :grouped_in, :lines_in, :due_in, UTC_TIMESTAMP(6)); SELECT
    last_insert_id() AS last_insert_id_1
