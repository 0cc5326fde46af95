-- Read the consumers that were there lately.
SELECT duerow_consumer.name, duerow_consumer.about, duerow_consumer.seen_at
FROM duerow_consumer
ORDER BY duerow_consumer.name
