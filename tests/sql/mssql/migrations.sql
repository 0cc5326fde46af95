-- statement: migrations
IF OBJECT_ID(N'[duerow_message_id]', N'SO') IS NULL CREATE SEQUENCE [duerow_message_id] AS BIGINT START WITH 1 INCREMENT BY 1 CACHE 1000;

IF OBJECT_ID(N'duerow_schema', N'U') IS NULL CREATE TABLE duerow_schema (
	version INTEGER NOT NULL, 
	name NVARCHAR(MAX) NULL, 
	PRIMARY KEY (version)
);

CREATE TABLE duerow_message (
	id BIGINT NOT NULL DEFAULT NEXT VALUE FOR [duerow_message_id], 
	queue VARBINARY(700) NOT NULL, 
	[key] VARBINARY(700) NULL, 
	kind NVARCHAR(700) COLLATE Latin1_General_100_BIN2 NOT NULL, 
	payload NVARCHAR(MAX) COLLATE Latin1_General_100_BIN2 NOT NULL, 
	headers NVARCHAR(MAX) COLLATE Latin1_General_100_BIN2 NULL, 
	[group] VARBINARY(700) NULL, 
	priority SMALLINT NOT NULL, 
	status NVARCHAR(700) COLLATE Latin1_General_100_BIN2 NOT NULL, 
	due_at DATETIME2(6) NULL, 
	place_at DATETIME2(6) NULL, 
	behind_at DATETIME2(6) NULL, 
	first_due_at DATETIME2(6) NOT NULL, 
	attempts INTEGER NOT NULL, 
	token BIGINT NOT NULL, 
	leased_by NVARCHAR(700) COLLATE Latin1_General_100_BIN2 NULL, 
	leased_until DATETIME2(6) NULL, 
	created_at DATETIME2(6) NOT NULL, 
	last_attempt_at DATETIME2(6) NULL, 
	last_error NVARCHAR(MAX) COLLATE Latin1_General_100_BIN2 NULL, 
	PRIMARY KEY (id), 
	CHECK (status IN ('new', 'error', 'done', 'dead'))
);

ALTER TABLE duerow_message SET (LOCK_ESCALATION = DISABLE);

CREATE INDEX duerow_message_due ON duerow_message (queue, priority, due_at, id) WHERE due_at IS NOT NULL AND [group] IS NULL;

CREATE INDEX duerow_message_heads ON duerow_message (queue, priority, due_at, id) WHERE due_at IS NOT NULL AND [group] IS NOT NULL;

CREATE INDEX duerow_message_resting ON duerow_message (queue, id) WHERE due_at IS NULL AND behind_at IS NULL;

CREATE INDEX duerow_message_stopped ON duerow_message (queue, id) WHERE due_at IS NULL AND behind_at IS NULL AND status <> 'dead';

CREATE UNIQUE INDEX duerow_message_key ON duerow_message (queue, [key]) WHERE [key] IS NOT NULL AND status IN ('new', 'error');

CREATE INDEX duerow_message_group ON duerow_message (queue, [group], id) WHERE [group] IS NOT NULL AND status IN ('new', 'error');

CREATE UNIQUE INDEX duerow_message_turn ON duerow_message (queue, [group]) WHERE [group] IS NOT NULL AND leased_by IS NOT NULL;

INSERT INTO duerow_schema (version, name) VALUES (CAST(1 AS INT), '0001 messages');

CREATE TABLE duerow_queue (
	name VARBINARY(700) NOT NULL, 
	paused BIT NOT NULL, 
	draining BIT NOT NULL, 
	[definition] NVARCHAR(MAX) COLLATE Latin1_General_100_BIN2 NULL, 
	PRIMARY KEY (name)
);

CREATE TABLE duerow_consumer (
	name VARBINARY(700) NOT NULL, 
	about NVARCHAR(MAX) COLLATE Latin1_General_100_BIN2 NOT NULL, 
	seen_at DATETIME2(6) NOT NULL, 
	PRIMARY KEY (name)
);

INSERT INTO duerow_schema (version, name) VALUES (CAST(2 AS INT), '0002 queues');

CREATE TABLE duerow_schedule (
	name VARBINARY(700) NOT NULL, 
	[definition] NVARCHAR(MAX) COLLATE Latin1_General_100_BIN2 NOT NULL, 
	next_at DATETIME2(6) NULL, 
	last_at DATETIME2(6) NULL, 
	version BIGINT NOT NULL, 
	PRIMARY KEY (name)
);

CREATE INDEX duerow_schedule_due ON duerow_schedule (next_at) WHERE next_at IS NOT NULL;

INSERT INTO duerow_schema (version, name) VALUES (CAST(3 AS INT), '0003 schedules');

CREATE TABLE duerow_history (
	id BIGINT NOT NULL, 
	token BIGINT NOT NULL, 
	queue VARBINARY(700) NOT NULL, 
	[key] VARBINARY(700) NULL, 
	kind NVARCHAR(700) COLLATE Latin1_General_100_BIN2 NOT NULL, 
	payload NVARCHAR(MAX) COLLATE Latin1_General_100_BIN2 NOT NULL, 
	headers NVARCHAR(MAX) COLLATE Latin1_General_100_BIN2 NULL, 
	[group] VARBINARY(700) NULL, 
	priority SMALLINT NOT NULL, 
	outcome NVARCHAR(700) COLLATE Latin1_General_100_BIN2 NOT NULL, 
	moved_to VARBINARY(700) NULL, 
	attempts INTEGER NOT NULL, 
	created_at DATETIME2(6) NOT NULL, 
	first_due_at DATETIME2(6) NOT NULL, 
	due_at DATETIME2(6) NOT NULL, 
	started_at DATETIME2(6) NOT NULL, 
	finished_at DATETIME2(6) NOT NULL, 
	worker NVARCHAR(700) COLLATE Latin1_General_100_BIN2 NULL, 
	error NVARCHAR(MAX) COLLATE Latin1_General_100_BIN2 NULL, 
	until DATETIME2(6) NOT NULL, 
	PRIMARY KEY (id, token)
);

CREATE TABLE duerow_remembered (
	queue VARBINARY(700) NOT NULL, 
	[key] VARBINARY(700) NOT NULL, 
	id BIGINT NOT NULL, 
	until DATETIME2(6) NOT NULL, 
	PRIMARY KEY NONCLUSTERED (queue, [key])
);

CREATE INDEX duerow_history_finished ON duerow_history (queue, finished_at, id, token);

CREATE INDEX duerow_history_key ON duerow_history (queue, [key], finished_at, id, token) WHERE [key] IS NOT NULL;

CREATE INDEX duerow_history_until ON duerow_history (until);

CREATE INDEX duerow_remembered_until ON duerow_remembered (until);

INSERT INTO duerow_schema (version, name) VALUES (CAST(4 AS INT), '0004 history');

CREATE TABLE duerow_counter (
	queue VARBINARY(700) NOT NULL, 
	minute DATETIME2(6) NOT NULL, 
	process VARBINARY(700) NOT NULL, 
	done BIGINT NOT NULL, 
	failed BIGINT NOT NULL, 
	dead BIGINT NOT NULL, 
	moved BIGINT NOT NULL, 
	waiting NVARCHAR(MAX) COLLATE Latin1_General_100_BIN2 NULL, 
	handling NVARCHAR(MAX) COLLATE Latin1_General_100_BIN2 NULL, 
	PRIMARY KEY NONCLUSTERED (queue, minute, process)
);

CREATE INDEX duerow_counter_old ON duerow_counter (minute) WHERE process <> 0x;

INSERT INTO duerow_schema (version, name) VALUES (CAST(5 AS INT), '0005 counters');

CREATE TABLE duerow_set (
	queue VARBINARY(700) NOT NULL, 
	correlation VARBINARY(700) NOT NULL, 
	set_id BIGINT NULL, 
	parts INTEGER NOT NULL, 
	closed_until DATETIME2(6) NULL, 
	PRIMARY KEY NONCLUSTERED (queue, correlation)
);

CREATE INDEX duerow_set_closed ON duerow_set (closed_until) WHERE closed_until IS NOT NULL;

CREATE TABLE duerow_part (
	set_id BIGINT NOT NULL, 
	part_id BIGINT NOT NULL, 
	content NVARCHAR(MAX) COLLATE Latin1_General_100_BIN2 NOT NULL, 
	PRIMARY KEY (set_id, part_id)
);

CREATE TABLE duerow_pipeline (
	name VARBINARY(700) NOT NULL, 
	[definition] NVARCHAR(MAX) COLLATE Latin1_General_100_BIN2 NOT NULL, 
	version BIGINT NOT NULL, 
	PRIMARY KEY (name)
);

INSERT INTO duerow_schema (version, name) VALUES (CAST(6 AS INT), '0006 pipelines');

CREATE TABLE duerow_staging (
	id BIGINT NOT NULL IDENTITY, 
	batch VARBINARY(700) NOT NULL, 
	part VARBINARY(700) NOT NULL, 
	entries INTEGER NOT NULL, 
	keyed BIT NOT NULL, 
	grouped BIT NOT NULL, 
	lines NVARCHAR(MAX) COLLATE Latin1_General_100_BIN2 NOT NULL, 
	due DATETIME2(6) NULL, 
	staged_at DATETIME2(6) NOT NULL, 
	PRIMARY KEY (id)
);

CREATE TABLE duerow_staged (
	staging_id BIGINT NOT NULL, 
	place INTEGER NOT NULL, 
	queue VARBINARY(700) NOT NULL, 
	[key] VARBINARY(700) NULL, 
	kind NVARCHAR(700) COLLATE Latin1_General_100_BIN2 NOT NULL, 
	payload NVARCHAR(MAX) COLLATE Latin1_General_100_BIN2 NOT NULL, 
	headers NVARCHAR(MAX) COLLATE Latin1_General_100_BIN2 NULL, 
	[group] VARBINARY(700) NULL, 
	priority SMALLINT NOT NULL, 
	due DATETIME2(6) NULL, 
	delay BIGINT NULL, 
	PRIMARY KEY (staging_id, place)
);

CREATE TABLE duerow_noted (
	name VARBINARY(700) NOT NULL, 
	noted_at DATETIME2(6) NOT NULL, 
	PRIMARY KEY (name)
);

CREATE INDEX duerow_staging_batch ON duerow_staging (batch, id);

CREATE INDEX duerow_staging_staged ON duerow_staging (staged_at);

CREATE INDEX duerow_noted_at ON duerow_noted (noted_at);

INSERT INTO duerow_schema (version, name) VALUES (CAST(7 AS INT), '0007 batches');

