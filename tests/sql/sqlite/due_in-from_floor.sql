-- Read how long from now until a queue's next message is due, of those from the bound `floor` on if
-- asked.
SELECT (SELECT min(duerow_message.due_at) AS min_1
FROM duerow_message
WHERE duerow_message.queue = :queue_in AND duerow_message.due_at >= least(:floor, :now)) - :now AS anon_1
