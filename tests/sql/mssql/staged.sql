-- Read entries that were staged under a number, from a place on, in their order.
SELECT TOP (CAST(:limit_in AS INT)) duerow_staged.queue, duerow_staged.[key], duerow_staged.kind,
    duerow_staged.payload AS payload, duerow_staged.headers AS headers, duerow_staged.[group], duerow_staged.priority,
    duerow_staged.due, duerow_staged.delay
FROM duerow_staged
WHERE duerow_staged.staging_id = CAST(:staging_in AS BIGINT) AND duerow_staged.place >= CAST(:place_in AS INT)
ORDER BY duerow_staged.place
