-- Forget the consumers not heard of for a day.
DELETE
FROM duerow_consumer
WHERE timestampadd(MICROSECOND, :span, duerow_consumer.seen_at) < UTC_TIMESTAMP(6)
