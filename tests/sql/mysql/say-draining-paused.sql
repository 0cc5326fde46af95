-- Note some of what is said of a queue: whether it is `paused` or `draining`, its `definition`.
INSERT INTO duerow_queue (name, paused, draining, definition)
VALUES (:queue_in, :paused_in, :draining_in, NULL) ON DUPLICATE KEY UPDATE paused = :paused_in, draining =
    :draining_in
