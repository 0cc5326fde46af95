-- Take rows of sets away that were complete so long ago that it need not be known any more.
DELETE
FROM duerow_set
WHERE (duerow_set.queue, duerow_set.correlation) IN (SELECT duerow_set.queue, duerow_set.correlation
FROM duerow_set
WHERE duerow_set.closed_until <= statement_timestamp()
ORDER BY duerow_set.closed_until
LIMIT :limit_in::INTEGER
FOR UPDATE SKIP LOCKED) AND duerow_set.closed_until <= statement_timestamp()
