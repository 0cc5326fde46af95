-- Read when a queue's next message is due, of those due from the bound `floor` on if asked; and the
-- time.
SELECT (SELECT min(duerow_message.due_at) AS min_1
FROM duerow_message
WHERE duerow_message.queue = :queue_in AND duerow_message.due_at >= :floor) AS anon_1, :now AS anon_2
