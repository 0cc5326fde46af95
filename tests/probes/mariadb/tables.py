"""The schema: one table of rows that are due, and a sequence that hands out ids outside any transaction."""

from __future__ import annotations

MESSAGE_ID = "CREATE SEQUENCE duerow_message_id CACHE 1000"

# Keys and names are bytes: every collation of the server would take 'a', 'A' and 'a ' for the same key.
# `live_key` empties itself when the message is dead, so that a unique index over it is a partial one.
MESSAGE = """
CREATE TABLE duerow_message (
  id BIGINT NOT NULL PRIMARY KEY,
  queue VARBINARY(100) NOT NULL,
  message_key VARBINARY(512),
  status VARCHAR(5) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  due_at DATETIME(6),
  first_due_at DATETIME(6) NOT NULL,
  attempts INT NOT NULL,
  token BIGINT NOT NULL,
  leased_by VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
  leased_until DATETIME(6),
  last_error LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
  payload LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  live_key VARBINARY(512) AS (IF(status IN ('new', 'error'), message_key, NULL)) STORED,
  KEY line (queue, due_at, id),
  UNIQUE KEY live_key (queue, live_key)
) ENGINE = InnoDB
"""

CREATE = (MESSAGE_ID, MESSAGE)
DROP = ("DROP TABLE IF EXISTS duerow_message", "DROP SEQUENCE IF EXISTS duerow_message_id")
