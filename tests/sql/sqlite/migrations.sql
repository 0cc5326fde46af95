-- statement: migrations
CREATE TABLE IF NOT EXISTS duerow_schema (
	version INTEGER NOT NULL, 
	name TEXT, 
	PRIMARY KEY (version)
);

CREATE TABLE duerow_message (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	queue TEXT COLLATE "BINARY" NOT NULL, 
	"key" TEXT COLLATE "BINARY", 
	kind TEXT NOT NULL, 
	payload TEXT NOT NULL, 
	headers TEXT, 
	"group" TEXT COLLATE "BINARY", 
	priority SMALLINT NOT NULL, 
	status TEXT NOT NULL, 
	due_at BIGINT, 
	place_at BIGINT, 
	behind_at BIGINT, 
	first_due_at BIGINT NOT NULL, 
	attempts INTEGER NOT NULL, 
	token BIGINT NOT NULL, 
	leased_by TEXT, 
	leased_until BIGINT, 
	created_at BIGINT NOT NULL, 
	last_attempt_at BIGINT, 
	last_error TEXT, 
	CHECK (json_valid(payload)), 
	CHECK (status IN ('new', 'error', 'done', 'dead'))
);

CREATE INDEX duerow_message_due ON duerow_message (queue, priority, due_at, id) WHERE due_at IS NOT NULL AND "group" IS NULL;

CREATE INDEX duerow_message_heads ON duerow_message (queue, priority, due_at, id) WHERE due_at IS NOT NULL AND "group" IS NOT NULL;

CREATE INDEX duerow_message_resting ON duerow_message (queue, id) WHERE due_at IS NULL AND behind_at IS NULL;

CREATE INDEX duerow_message_stopped ON duerow_message (queue, id) WHERE due_at IS NULL AND behind_at IS NULL AND status <> 'dead';

CREATE UNIQUE INDEX duerow_message_key ON duerow_message (queue, "key") WHERE key IS NOT NULL AND status IN ('new', 'error');

CREATE INDEX duerow_message_group ON duerow_message (queue, "group", id) WHERE "group" IS NOT NULL AND status IN ('new', 'error');

CREATE UNIQUE INDEX duerow_message_turn ON duerow_message (queue, "group") WHERE "group" IS NOT NULL AND leased_by IS NOT NULL;

INSERT INTO duerow_schema (version, name) VALUES (1, '0001 messages');

CREATE TABLE duerow_queue (
	name TEXT COLLATE "BINARY" NOT NULL, 
	paused BOOLEAN NOT NULL, 
	draining BOOLEAN NOT NULL, 
	definition TEXT, 
	PRIMARY KEY (name), 
	CHECK (definition IS NULL OR json_valid(definition))
);

CREATE TABLE duerow_consumer (
	name TEXT COLLATE "BINARY" NOT NULL, 
	about TEXT NOT NULL, 
	seen_at BIGINT NOT NULL, 
	PRIMARY KEY (name), 
	CHECK (json_valid(about))
);

INSERT INTO duerow_schema (version, name) VALUES (2, '0002 queues');

CREATE TABLE duerow_schedule (
	name TEXT COLLATE "BINARY" NOT NULL, 
	definition TEXT NOT NULL, 
	next_at BIGINT, 
	last_at BIGINT, 
	version BIGINT NOT NULL, 
	PRIMARY KEY (name), 
	CHECK (json_valid(definition))
);

CREATE INDEX duerow_schedule_due ON duerow_schedule (next_at) WHERE next_at IS NOT NULL;

INSERT INTO duerow_schema (version, name) VALUES (3, '0003 schedules');

CREATE TABLE duerow_history (
	id BIGINT NOT NULL, 
	token BIGINT NOT NULL, 
	queue TEXT COLLATE "BINARY" NOT NULL, 
	"key" TEXT COLLATE "BINARY", 
	kind TEXT NOT NULL, 
	payload TEXT NOT NULL, 
	headers TEXT, 
	"group" TEXT COLLATE "BINARY", 
	priority SMALLINT NOT NULL, 
	outcome TEXT NOT NULL, 
	moved_to TEXT COLLATE "BINARY", 
	attempts INTEGER NOT NULL, 
	created_at BIGINT NOT NULL, 
	first_due_at BIGINT NOT NULL, 
	due_at BIGINT NOT NULL, 
	started_at BIGINT NOT NULL, 
	finished_at BIGINT NOT NULL, 
	worker TEXT, 
	error TEXT, 
	until BIGINT NOT NULL, 
	PRIMARY KEY (id, token)
);

CREATE TABLE duerow_remembered (
	queue TEXT COLLATE "BINARY" NOT NULL, 
	"key" TEXT COLLATE "BINARY" NOT NULL, 
	id BIGINT NOT NULL, 
	until BIGINT NOT NULL, 
	PRIMARY KEY (queue, "key")
);

CREATE INDEX duerow_history_finished ON duerow_history (queue, finished_at, id, token);

CREATE INDEX duerow_history_key ON duerow_history (queue, "key", finished_at, id, token) WHERE key IS NOT NULL;

CREATE INDEX duerow_history_until ON duerow_history (until);

CREATE INDEX duerow_remembered_until ON duerow_remembered (until);

INSERT INTO duerow_schema (version, name) VALUES (4, '0004 history');

CREATE TABLE duerow_counter (
	queue TEXT COLLATE "BINARY" NOT NULL, 
	minute BIGINT NOT NULL, 
	process TEXT COLLATE "BINARY" NOT NULL, 
	done BIGINT NOT NULL, 
	failed BIGINT NOT NULL, 
	dead BIGINT NOT NULL, 
	moved BIGINT NOT NULL, 
	waiting TEXT, 
	handling TEXT, 
	PRIMARY KEY (queue, minute, process), 
	CHECK (waiting IS NULL OR json_valid(waiting)), 
	CHECK (handling IS NULL OR json_valid(handling))
);

CREATE INDEX duerow_counter_old ON duerow_counter (minute) WHERE process <> '';

INSERT INTO duerow_schema (version, name) VALUES (5, '0005 counters');

CREATE TABLE duerow_set (
	queue TEXT COLLATE "BINARY" NOT NULL, 
	correlation TEXT COLLATE "BINARY" NOT NULL, 
	set_id BIGINT, 
	parts INTEGER NOT NULL, 
	closed_until BIGINT, 
	PRIMARY KEY (queue, correlation)
);

CREATE INDEX duerow_set_closed ON duerow_set (closed_until) WHERE closed_until IS NOT NULL;

CREATE TABLE duerow_part (
	set_id BIGINT NOT NULL, 
	part_id BIGINT NOT NULL, 
	content TEXT NOT NULL, 
	PRIMARY KEY (set_id, part_id)
);

CREATE TABLE duerow_pipeline (
	name TEXT COLLATE "BINARY" NOT NULL, 
	definition TEXT NOT NULL, 
	version BIGINT NOT NULL, 
	PRIMARY KEY (name), 
	CHECK (json_valid(definition))
);

INSERT INTO duerow_schema (version, name) VALUES (6, '0006 pipelines');

CREATE TABLE duerow_staging (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	batch TEXT COLLATE "BINARY" NOT NULL, 
	part TEXT COLLATE "BINARY" NOT NULL, 
	entries INTEGER NOT NULL, 
	keyed BOOLEAN NOT NULL, 
	grouped BOOLEAN NOT NULL, 
	lines TEXT NOT NULL, 
	due BIGINT, 
	staged_at BIGINT NOT NULL
);

CREATE TABLE duerow_staged (
	staging_id BIGINT NOT NULL, 
	place INTEGER NOT NULL, 
	queue TEXT COLLATE "BINARY" NOT NULL, 
	"key" TEXT COLLATE "BINARY", 
	kind TEXT NOT NULL, 
	payload TEXT NOT NULL, 
	headers TEXT, 
	"group" TEXT COLLATE "BINARY", 
	priority SMALLINT NOT NULL, 
	due BIGINT, 
	delay BIGINT, 
	PRIMARY KEY (staging_id, place)
);

CREATE TABLE duerow_noted (
	name TEXT COLLATE "BINARY" NOT NULL, 
	noted_at BIGINT NOT NULL, 
	PRIMARY KEY (name)
);

CREATE INDEX duerow_staging_batch ON duerow_staging (batch, id);

CREATE INDEX duerow_staging_staged ON duerow_staging (staged_at);

CREATE INDEX duerow_noted_at ON duerow_noted (noted_at);

INSERT INTO duerow_schema (version, name) VALUES (7, '0007 batches');

