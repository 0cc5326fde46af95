-- Read what a batch has staged, in the order in which it was, locked against who publishes or discards
-- it.
SELECT duerow_staging.id, duerow_staging.part, duerow_staging.entries, duerow_staging.keyed, duerow_staging.grouped,
    CAST(duerow_staging.lines AS TEXT) AS lines, duerow_staging.due
FROM duerow_staging
WHERE duerow_staging.batch = :batch_in::VARCHAR
ORDER BY duerow_staging.id
FOR UPDATE
