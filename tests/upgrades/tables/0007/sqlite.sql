BEGIN TRANSACTION;
CREATE TABLE duerow_consumer (
	name TEXT COLLATE "BINARY" NOT NULL, 
	about TEXT NOT NULL, 
	seen_at BIGINT NOT NULL, 
	PRIMARY KEY (name), 
	CHECK (json_valid(about))
);
INSERT INTO "duerow_consumer" VALUES('vm:2226:wef44','{"queues":["mail"],"kinds":["json","bytes"],"version":"0.2.0"}',1795479049413430);
INSERT INTO "duerow_consumer" VALUES('vm:2226:w9a3b','{"queues":["mail"],"kinds":["json","bytes"],"version":"0.2.0"}',1795479049453846);
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
INSERT INTO "duerow_counter" VALUES('mail',1795479000000000,'vm:2226:-/064c044c80fb',1,0,1,0,'{"8159":1,"8119":1,"8126":1}','{"8050":1,"8055":1}');
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
INSERT INTO "duerow_history" VALUES(1,1,'mail','handled','json','"handled"',NULL,NULL,0,'done',NULL,1,1795479049259110,1795479049259110,1795479049259110,1795479049378263,1795479049389824,'vm:2226:wef44/7cfc718378da',NULL,4949079049389824);
INSERT INTO "duerow_history" VALUES(2,1,'mail','refused','json','"refused"',NULL,NULL,0,'dead',NULL,1,1795479049432739,1795479049432739,1795479049432739,1795479049436644,1795479049442003,'vm:2226:w9a3b/826063aba538','{"message":"not wanted","traceback":null,"type":"Bury"}',4949079049442003);
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
INSERT INTO "duerow_message" VALUES(2,'mail','refused','json','"refused"',NULL,NULL,0,'dead',NULL,1795479049432739,NULL,1795479049432739,1,2,NULL,NULL,1795479049432739,1795479049436644,'{"message":"not wanted","traceback":null,"type":"Bury"}');
INSERT INTO "duerow_message" VALUES(3,'mail','leased','json','"leased"',NULL,NULL,0,'new',1795479050468618,1795479049461431,NULL,1795479049461431,1,1,'vm:2226:-/1db093277caa',1795479050468618,1795479049461431,1795479049468618,NULL);
INSERT INTO "duerow_message" VALUES(4,'mail','ready-0','json','{"n":0}',NULL,'a',0,'new',1795479049473569,NULL,NULL,1795479049473569,0,0,NULL,NULL,1795479049473569,NULL,NULL);
INSERT INTO "duerow_message" VALUES(5,'mail','ready-1','json','{"n":1}',NULL,'a',1,'new',1795479049473569,NULL,NULL,1795479049473569,0,0,NULL,NULL,1795479049473569,NULL,NULL);
INSERT INTO "duerow_message" VALUES(6,'mail','ready-2','json','{"n":2}',NULL,'a',2,'new',1795479049473569,NULL,NULL,1795479049473569,0,0,NULL,NULL,1795479049473569,NULL,NULL);
INSERT INTO "duerow_message" VALUES(7,'mail',NULL,'json','"later"',NULL,NULL,0,'new',4102444800000000,NULL,NULL,4102444800000000,0,0,NULL,NULL,1795479049480394,NULL,NULL);
INSERT INTO "duerow_message" VALUES(8,'halted',NULL,'json','"paused"',NULL,NULL,0,'new',1795479049483763,NULL,NULL,1795479049483763,0,0,NULL,NULL,1795479049483763,NULL,NULL);
CREATE TABLE duerow_noted (
	name TEXT COLLATE "BINARY" NOT NULL, 
	noted_at BIGINT NOT NULL, 
	PRIMARY KEY (name)
);
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
INSERT INTO "duerow_pipeline" VALUES('parcels','{"name":"parcels","stations":[{"function":"builtins.dict","kind":"relay","name":"weigh","ways":{"":"send"}},{"function":"builtins.print","kind":"sink","name":"send","ways":{}}]}',2566580873457608346);
CREATE TABLE duerow_queue (
	name TEXT COLLATE "BINARY" NOT NULL, 
	paused BOOLEAN NOT NULL, 
	draining BOOLEAN NOT NULL, 
	definition TEXT, 
	PRIMARY KEY (name), 
	CHECK (definition IS NULL OR json_valid(definition))
);
INSERT INTO "duerow_queue" VALUES('mail',0,0,'{"dead_letter":null,"history":"P36500D","indexed":{},"lease":"PT60S","max_payload_bytes":1048576,"remember_keys":"P36500D","retry":{"attempts":20,"of":{"factor":2.0,"first":"PT1S","jitter":0.1,"maximum":"PT3600S","policy":"exponential"},"policy":"limited"}}');
INSERT INTO "duerow_queue" VALUES('halted',1,0,NULL);
CREATE TABLE duerow_remembered (
	queue TEXT COLLATE "BINARY" NOT NULL, 
	"key" TEXT COLLATE "BINARY" NOT NULL, 
	id BIGINT NOT NULL, 
	until BIGINT NOT NULL, 
	PRIMARY KEY (queue, "key")
);
INSERT INTO "duerow_remembered" VALUES('mail','handled',1,4949079049391706);
INSERT INTO "duerow_remembered" VALUES('mail','refused',2,4949079049442128);
INSERT INTO "duerow_remembered" VALUES('mail','leased',3,0);
INSERT INTO "duerow_remembered" VALUES('mail','ready-0',4,0);
INSERT INTO "duerow_remembered" VALUES('mail','ready-1',5,0);
INSERT INTO "duerow_remembered" VALUES('mail','ready-2',6,0);
CREATE TABLE duerow_schedule (
	name TEXT COLLATE "BINARY" NOT NULL, 
	definition TEXT NOT NULL, 
	next_at BIGINT, 
	last_at BIGINT, 
	version BIGINT NOT NULL, 
	PRIMARY KEY (name), 
	CHECK (json_valid(definition))
);
INSERT INTO "duerow_schedule" VALUES('nightly','{"queue":"mail","kind":"json","payload":"\"tick\"","rhythm":{"cron":"0 3 * * *","zone":"UTC","start":"2100-01-01T00:00:00Z"}}',4102455600000000,NULL,557450889996576023);
CREATE TABLE duerow_schema (
	version INTEGER NOT NULL, 
	name TEXT, 
	PRIMARY KEY (version)
);
INSERT INTO "duerow_schema" VALUES(1,'0001 messages');
INSERT INTO "duerow_schema" VALUES(2,'0002 queues');
INSERT INTO "duerow_schema" VALUES(3,'0003 schedules');
INSERT INTO "duerow_schema" VALUES(4,'0004 history');
INSERT INTO "duerow_schema" VALUES(5,'0005 counters');
INSERT INTO "duerow_schema" VALUES(6,'0006 pipelines');
INSERT INTO "duerow_schema" VALUES(7,'0007 batches');
CREATE TABLE duerow_set (
	queue TEXT COLLATE "BINARY" NOT NULL, 
	correlation TEXT COLLATE "BINARY" NOT NULL, 
	set_id BIGINT, 
	parts INTEGER NOT NULL, 
	closed_until BIGINT, 
	PRIMARY KEY (queue, correlation)
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
CREATE INDEX duerow_message_due ON duerow_message (queue, priority, due_at, id) WHERE due_at IS NOT NULL AND "group" IS NULL;
CREATE INDEX duerow_message_heads ON duerow_message (queue, priority, due_at, id) WHERE due_at IS NOT NULL AND "group" IS NOT NULL;
CREATE INDEX duerow_message_resting ON duerow_message (queue, id) WHERE due_at IS NULL AND behind_at IS NULL;
CREATE INDEX duerow_message_stopped ON duerow_message (queue, id) WHERE due_at IS NULL AND behind_at IS NULL AND status <> 'dead';
CREATE UNIQUE INDEX duerow_message_key ON duerow_message (queue, "key") WHERE key IS NOT NULL AND status IN ('new', 'error');
CREATE INDEX duerow_message_group ON duerow_message (queue, "group", id) WHERE "group" IS NOT NULL AND status IN ('new', 'error');
CREATE UNIQUE INDEX duerow_message_turn ON duerow_message (queue, "group") WHERE "group" IS NOT NULL AND leased_by IS NOT NULL;
CREATE INDEX duerow_schedule_due ON duerow_schedule (next_at) WHERE next_at IS NOT NULL;
CREATE INDEX duerow_history_finished ON duerow_history (queue, finished_at, id, token);
CREATE INDEX duerow_history_key ON duerow_history (queue, "key", finished_at, id, token) WHERE key IS NOT NULL;
CREATE INDEX duerow_history_until ON duerow_history (until);
CREATE INDEX duerow_remembered_until ON duerow_remembered (until);
CREATE INDEX duerow_counter_old ON duerow_counter (minute) WHERE process <> '';
CREATE INDEX duerow_set_closed ON duerow_set (closed_until) WHERE closed_until IS NOT NULL;
CREATE INDEX duerow_staging_batch ON duerow_staging (batch, id);
CREATE INDEX duerow_staging_staged ON duerow_staging (staged_at);
CREATE INDEX duerow_noted_at ON duerow_noted (noted_at);
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('duerow_message',8);
COMMIT;
