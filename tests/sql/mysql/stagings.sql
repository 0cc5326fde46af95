-- Read what a batch has staged, in the order in which it was, locked against who publishes or discards
-- it.
SELECT duerow_staging.id, duerow_staging.part, duerow_staging.entries, duerow_staging.keyed, duerow_staging.grouped,
    duerow_staging.`lines` AS `lines`, duerow_staging.due
FROM duerow_staging
WHERE duerow_staging.batch = :batch_in
ORDER BY duerow_staging.id
FOR UPDATE
