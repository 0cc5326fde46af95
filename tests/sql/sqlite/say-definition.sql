-- Note some of what is said of a queue: whether it is `paused` or `draining`, its `definition`.
INSERT INTO duerow_queue (name, paused, draining, definition)
VALUES (:queue_in, 0, 0, :definition_in)
ON CONFLICT (name) DO UPDATE
SET definition = excluded.definition
