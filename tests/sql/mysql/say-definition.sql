-- Note some of what is said of a queue: whether it is `paused` or `draining`, its `definition`.
INSERT INTO duerow_queue (name, paused, draining, definition)
VALUES (:queue_in, false, false, :definition_in) ON DUPLICATE KEY UPDATE definition = :definition_in
