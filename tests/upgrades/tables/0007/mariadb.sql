CREATE SEQUENCE IF NOT EXISTS `duerow_message_id` CACHE 1000 ENGINE=InnoDB;

CREATE TABLE IF NOT EXISTS duerow_schema (
	version INTEGER NOT NULL, 
	name TEXT, 
	PRIMARY KEY (version)
)ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE utf8mb4_nopad_bin;

CREATE TABLE IF NOT EXISTS duerow_message (
	id BIGINT NOT NULL DEFAULT (NEXTVAL(`duerow_message_id`)), 
	queue VARCHAR(255) NOT NULL, 
	`key` VARCHAR(255), 
	kind VARCHAR(700) NOT NULL, 
	payload LONGTEXT NOT NULL, 
	headers LONGTEXT, 
	`group` VARCHAR(255), 
	priority SMALLINT NOT NULL, 
	status VARCHAR(700) NOT NULL, 
	due_at DATETIME(6), 
	place_at DATETIME(6), 
	behind_at DATETIME(6), 
	first_due_at DATETIME(6) NOT NULL, 
	attempts INTEGER NOT NULL, 
	token BIGINT NOT NULL, 
	leased_by VARCHAR(700), 
	leased_until DATETIME(6), 
	created_at DATETIME(6) NOT NULL, 
	last_attempt_at DATETIME(6), 
	last_error LONGTEXT, 
	line SMALLINT GENERATED ALWAYS AS (IF(due_at IS NULL, NULL, `group` IS NOT NULL)) STORED, 
	rests SMALLINT GENERATED ALWAYS AS (IF(due_at IS NULL AND behind_at IS NULL, 1, NULL)) STORED, 
	stopped SMALLINT GENERATED ALWAYS AS (IF(due_at IS NULL AND behind_at IS NULL AND status <> 'dead', 1, NULL)) STORED, 
	live_key VARCHAR(255) GENERATED ALWAYS AS (IF(status IN ('new', 'error'), `key`, NULL)) STORED, 
	live_group VARCHAR(255) GENERATED ALWAYS AS (IF(status IN ('new', 'error'), `group`, NULL)) STORED, 
	lent_group VARCHAR(255) GENERATED ALWAYS AS (IF(leased_by IS NOT NULL, `group`, NULL)) STORED, 
	PRIMARY KEY (id), 
	CHECK (status IN ('new', 'error', 'done', 'dead'))
)ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE utf8mb4_nopad_bin;

CREATE INDEX IF NOT EXISTS duerow_message_due ON duerow_message (queue, line, priority, due_at, id);

CREATE INDEX IF NOT EXISTS duerow_message_resting ON duerow_message (queue, rests, id);

CREATE INDEX IF NOT EXISTS duerow_message_stopped ON duerow_message (queue, stopped, id);

CREATE UNIQUE INDEX IF NOT EXISTS duerow_message_key ON duerow_message (queue, live_key);

CREATE INDEX IF NOT EXISTS duerow_message_group ON duerow_message (queue, live_group, id);

CREATE UNIQUE INDEX IF NOT EXISTS duerow_message_turn ON duerow_message (queue, lent_group);

INSERT INTO duerow_schema (version, name) VALUES (1, '0001 messages');

CREATE TABLE IF NOT EXISTS duerow_queue (
	name VARCHAR(255) NOT NULL, 
	paused BOOL NOT NULL, 
	draining BOOL NOT NULL, 
	definition LONGTEXT, 
	PRIMARY KEY (name)
)ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE utf8mb4_nopad_bin;

CREATE TABLE IF NOT EXISTS duerow_consumer (
	name VARCHAR(255) NOT NULL, 
	about LONGTEXT NOT NULL, 
	seen_at DATETIME(6) NOT NULL, 
	PRIMARY KEY (name)
)ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE utf8mb4_nopad_bin;

INSERT INTO duerow_schema (version, name) VALUES (2, '0002 queues');

CREATE TABLE IF NOT EXISTS duerow_schedule (
	name VARCHAR(255) NOT NULL, 
	definition LONGTEXT NOT NULL, 
	next_at DATETIME(6), 
	last_at DATETIME(6), 
	version BIGINT NOT NULL, 
	PRIMARY KEY (name)
)ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE utf8mb4_nopad_bin;

CREATE INDEX IF NOT EXISTS duerow_schedule_due ON duerow_schedule (next_at);

INSERT INTO duerow_schema (version, name) VALUES (3, '0003 schedules');

CREATE TABLE IF NOT EXISTS duerow_history (
	id BIGINT NOT NULL, 
	token BIGINT NOT NULL, 
	queue VARCHAR(255) NOT NULL, 
	`key` VARCHAR(255), 
	kind VARCHAR(700) NOT NULL, 
	payload LONGTEXT NOT NULL, 
	headers LONGTEXT, 
	`group` VARCHAR(255), 
	priority SMALLINT NOT NULL, 
	outcome VARCHAR(700) NOT NULL, 
	moved_to VARCHAR(255), 
	attempts INTEGER NOT NULL, 
	created_at DATETIME(6) NOT NULL, 
	first_due_at DATETIME(6) NOT NULL, 
	due_at DATETIME(6) NOT NULL, 
	started_at DATETIME(6) NOT NULL, 
	finished_at DATETIME(6) NOT NULL, 
	worker VARCHAR(700), 
	error LONGTEXT, 
	until DATETIME(6) NOT NULL, 
	PRIMARY KEY (id, token)
)ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE utf8mb4_nopad_bin;

CREATE TABLE IF NOT EXISTS duerow_remembered (
	queue VARCHAR(255) NOT NULL, 
	`key` VARCHAR(255) NOT NULL, 
	id BIGINT NOT NULL, 
	until DATETIME(6) NOT NULL, 
	PRIMARY KEY (queue, `key`)
)ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE utf8mb4_nopad_bin;

CREATE INDEX IF NOT EXISTS duerow_history_finished ON duerow_history (queue, finished_at, id, token);

CREATE INDEX IF NOT EXISTS duerow_history_key ON duerow_history (queue, `key`, finished_at, id, token);

CREATE INDEX IF NOT EXISTS duerow_history_until ON duerow_history (until);

CREATE INDEX IF NOT EXISTS duerow_remembered_until ON duerow_remembered (until);

INSERT INTO duerow_schema (version, name) VALUES (4, '0004 history');

CREATE TABLE IF NOT EXISTS duerow_counter (
	queue VARCHAR(255) NOT NULL, 
	minute DATETIME(6) NOT NULL, 
	process VARCHAR(255) NOT NULL, 
	done BIGINT NOT NULL, 
	failed BIGINT NOT NULL, 
	dead BIGINT NOT NULL, 
	moved BIGINT NOT NULL, 
	waiting LONGTEXT, 
	handling LONGTEXT, 
	PRIMARY KEY (queue, minute, process)
)ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE utf8mb4_nopad_bin;

CREATE INDEX IF NOT EXISTS duerow_counter_old ON duerow_counter (minute);

INSERT INTO duerow_schema (version, name) VALUES (5, '0005 counters');

CREATE TABLE IF NOT EXISTS duerow_set (
	queue VARCHAR(255) NOT NULL, 
	correlation VARCHAR(255) NOT NULL, 
	set_id BIGINT, 
	parts INTEGER NOT NULL, 
	closed_until DATETIME(6), 
	PRIMARY KEY (queue, correlation)
)ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE utf8mb4_nopad_bin;

CREATE INDEX IF NOT EXISTS duerow_set_closed ON duerow_set (closed_until);

CREATE TABLE IF NOT EXISTS duerow_part (
	set_id BIGINT NOT NULL, 
	part_id BIGINT NOT NULL, 
	content LONGTEXT NOT NULL, 
	PRIMARY KEY (set_id, part_id)
)ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE utf8mb4_nopad_bin;

CREATE TABLE IF NOT EXISTS duerow_pipeline (
	name VARCHAR(255) NOT NULL, 
	definition LONGTEXT NOT NULL, 
	version BIGINT NOT NULL, 
	PRIMARY KEY (name)
)ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE utf8mb4_nopad_bin;

INSERT INTO duerow_schema (version, name) VALUES (6, '0006 pipelines');

CREATE TABLE IF NOT EXISTS duerow_staging (
	id BIGINT NOT NULL AUTO_INCREMENT, 
	batch VARCHAR(255) NOT NULL, 
	part VARCHAR(255) NOT NULL, 
	entries INTEGER NOT NULL, 
	keyed BOOL NOT NULL, 
	grouped BOOL NOT NULL, 
	`lines` LONGTEXT NOT NULL, 
	due DATETIME(6), 
	staged_at DATETIME(6) NOT NULL, 
	PRIMARY KEY (id)
)ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE utf8mb4_nopad_bin;

CREATE TABLE IF NOT EXISTS duerow_staged (
	staging_id BIGINT NOT NULL, 
	place INTEGER NOT NULL, 
	queue VARCHAR(255) NOT NULL, 
	`key` VARCHAR(255), 
	kind VARCHAR(700) NOT NULL, 
	payload LONGTEXT NOT NULL, 
	headers LONGTEXT, 
	`group` VARCHAR(255), 
	priority SMALLINT NOT NULL, 
	due DATETIME(6), 
	delay BIGINT, 
	PRIMARY KEY (staging_id, place)
)ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE utf8mb4_nopad_bin;

CREATE TABLE IF NOT EXISTS duerow_noted (
	name VARCHAR(255) NOT NULL, 
	noted_at DATETIME(6) NOT NULL, 
	PRIMARY KEY (name)
)ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE utf8mb4_nopad_bin;

CREATE INDEX IF NOT EXISTS duerow_staging_batch ON duerow_staging (batch, id);

CREATE INDEX IF NOT EXISTS duerow_staging_staged ON duerow_staging (staged_at);

CREATE INDEX IF NOT EXISTS duerow_noted_at ON duerow_noted (noted_at);

INSERT INTO duerow_schema (version, name) VALUES (7, '0007 batches');

