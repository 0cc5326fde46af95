-- Take the given rows away unless a lease on them runs and `even_if_leased` is false; return their
-- ids.
DELETE
FROM duerow_message
WHERE duerow_message.queue = :queue_in AND (:even_if_leased = 1 OR duerow_message.leased_until IS NULL OR
    duerow_message.leased_until <= :now) AND duerow_message.id IN (SELECT given.id
FROM (SELECT given_rows.value AS id
FROM json_each(:given) AS given_rows) AS given)
RETURNING id
