-- Note that a consumer is there now.
INSERT INTO duerow_consumer (name, about, seen_at)
VALUES (:name_in, :about_in, UTC_TIMESTAMP(6)) ON DUPLICATE KEY UPDATE about = :about_in, seen_at = UTC_TIMESTAMP(6)
