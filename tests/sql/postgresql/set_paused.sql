-- Note that a queue is paused, or not.
INSERT INTO duerow_queue (name, paused)
VALUES (:queue_in::VARCHAR, :paused_in)
ON CONFLICT (name) DO UPDATE
SET paused = excluded.paused
