-- statement: roles
-- duerow_producer: pushes messages, one at a time or in batches
GRANT SELECT, INSERT ON `duerow_message_id` TO duerow_producer;
GRANT SELECT ON duerow_schema TO duerow_producer;
GRANT SELECT, INSERT, UPDATE, DELETE ON duerow_message TO duerow_producer;
GRANT SELECT ON duerow_queue TO duerow_producer;
GRANT SELECT, INSERT, UPDATE ON duerow_remembered TO duerow_producer;
GRANT SELECT, INSERT, UPDATE, DELETE ON duerow_staging TO duerow_producer;
GRANT SELECT, INSERT, DELETE ON duerow_staged TO duerow_producer;
GRANT SELECT, INSERT, UPDATE ON duerow_noted TO duerow_producer;

-- duerow_consumer: runs workers and pipelines
GRANT SELECT, INSERT ON `duerow_message_id` TO duerow_consumer;
GRANT SELECT ON duerow_schema TO duerow_consumer;
GRANT SELECT, INSERT, UPDATE, DELETE ON duerow_message TO duerow_consumer;
GRANT SELECT ON duerow_queue TO duerow_consumer;
GRANT SELECT, INSERT, UPDATE, DELETE ON duerow_consumer TO duerow_consumer;
GRANT SELECT, UPDATE ON duerow_schedule TO duerow_consumer;
GRANT SELECT, INSERT, UPDATE, DELETE ON duerow_history TO duerow_consumer;
GRANT SELECT, INSERT, UPDATE, DELETE ON duerow_remembered TO duerow_consumer;
GRANT SELECT, INSERT, UPDATE, DELETE ON duerow_counter TO duerow_consumer;
GRANT SELECT, INSERT, UPDATE, DELETE ON duerow_set TO duerow_consumer;
GRANT SELECT, INSERT, DELETE ON duerow_part TO duerow_consumer;
GRANT SELECT, INSERT, UPDATE ON duerow_pipeline TO duerow_consumer;
GRANT SELECT, INSERT, UPDATE, DELETE ON duerow_staging TO duerow_consumer;
GRANT SELECT, INSERT, DELETE ON duerow_staged TO duerow_consumer;
GRANT SELECT, INSERT, UPDATE, DELETE ON duerow_noted TO duerow_consumer;

-- duerow_operator: does everything that does not change the tables themselves
GRANT SELECT, INSERT ON `duerow_message_id` TO duerow_operator;
GRANT SELECT ON duerow_schema TO duerow_operator;
GRANT SELECT, INSERT, UPDATE, DELETE ON duerow_message TO duerow_operator;
GRANT SELECT, INSERT, UPDATE, DELETE ON duerow_queue TO duerow_operator;
GRANT SELECT, INSERT, UPDATE, DELETE ON duerow_consumer TO duerow_operator;
GRANT SELECT, INSERT, UPDATE, DELETE ON duerow_schedule TO duerow_operator;
GRANT SELECT, INSERT, UPDATE, DELETE ON duerow_history TO duerow_operator;
GRANT SELECT, INSERT, UPDATE, DELETE ON duerow_remembered TO duerow_operator;
GRANT SELECT, INSERT, UPDATE, DELETE ON duerow_counter TO duerow_operator;
GRANT SELECT, INSERT, UPDATE, DELETE ON duerow_set TO duerow_operator;
GRANT SELECT, INSERT, UPDATE, DELETE ON duerow_part TO duerow_operator;
GRANT SELECT, INSERT, UPDATE, DELETE ON duerow_pipeline TO duerow_operator;
GRANT SELECT, INSERT, UPDATE, DELETE ON duerow_staging TO duerow_operator;
GRANT SELECT, INSERT, UPDATE, DELETE ON duerow_staged TO duerow_operator;
GRANT SELECT, INSERT, UPDATE, DELETE ON duerow_noted TO duerow_operator;

-- duerow_reader: only reads
GRANT SELECT ON duerow_schema TO duerow_reader;
GRANT SELECT ON duerow_message TO duerow_reader;
GRANT SELECT ON duerow_queue TO duerow_reader;
GRANT SELECT ON duerow_consumer TO duerow_reader;
GRANT SELECT ON duerow_schedule TO duerow_reader;
GRANT SELECT ON duerow_history TO duerow_reader;
GRANT SELECT ON duerow_remembered TO duerow_reader;
GRANT SELECT ON duerow_counter TO duerow_reader;
GRANT SELECT ON duerow_set TO duerow_reader;
GRANT SELECT ON duerow_part TO duerow_reader;
GRANT SELECT ON duerow_pipeline TO duerow_reader;
GRANT SELECT ON duerow_staging TO duerow_reader;
GRANT SELECT ON duerow_staged TO duerow_reader;
GRANT SELECT ON duerow_noted TO duerow_reader;
