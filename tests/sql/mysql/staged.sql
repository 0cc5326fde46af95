-- Read entries that were staged under a number, from a place on, in their order.
SELECT duerow_staged.queue, duerow_staged.`key`, duerow_staged.kind, duerow_staged.payload AS payload,
    duerow_staged.headers AS headers, duerow_staged.`group`, duerow_staged.priority, duerow_staged.due,
    duerow_staged.delay
FROM duerow_staged
WHERE duerow_staged.staging_id = :staging_in AND duerow_staged.place >= :place_in
ORDER BY duerow_staged.place
LIMIT :limit_in
