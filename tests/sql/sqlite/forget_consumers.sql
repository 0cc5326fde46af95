-- Forget the consumers not heard of for a day.
DELETE
FROM duerow_consumer
WHERE duerow_consumer.seen_at + :span < :now
