"""The tables, as the statements see them; `migrations` creates them."""

from __future__ import annotations

from typing import Final

from sqlalchemy import BigInteger, Boolean, Column, Integer, MetaData, SmallInteger, Table, Text

from duerow.errors import ConfigurationError, shown
from duerow.stores.sql.dialects.base import Dialect

LONGEST_PREFIX: Final = 30


class Tables:
    """The tables of one installation, under its prefix and schema.

    Attributes:
        message: one row for each message; see the design note on the schema.
        waiting: one row for each queue that has sleeping consumers, with the time until which they sleep (only where
            pushes wake consumers).
        queue: one row for each queue that has settings.
        consumer: one row for each consumer that was seen recently.
        schedule: one row for each schedule, with its next tick.
        history: one row for each finished turn of queues that keep history, with the time until which it is kept.
        remembered: one row for each remembered key of a message that has left its queue, with the time until which it
            is remembered.
        set: one row for each set of a join that is incomplete, or that was completed recently.
        part: one row for each part of an incomplete set.
        pipeline: one row for each declared pipeline.
        staging: one row for each time that a part of a batch staged entries, with the facts that publishing needs.
        staged: one row for each staged entry.
        noted: one row for each name that was noted, so that the named operation happens only once.
        counter: one row for each queue, minute and process with counts, and one for each queue's lifetime.
        version: one row for each migration that was run.
    """

    def __init__(self, dialect: Dialect, prefix: str, schema: str | None) -> None:
        if not prefix.isidentifier() or not prefix.isascii() or len(prefix) > LONGEST_PREFIX:
            raise ConfigurationError(
                f"prefix must be 1 to {LONGEST_PREFIX} ASCII letters, digits and _, not {shown(prefix)}; table names "
                "begin with it"
            )
        self.prefix, self.schema = prefix, schema
        metadata = MetaData(schema=schema)
        moment, word = dialect.moment, dialect.told_word
        self.message = Table(
            f"{prefix}message",
            metadata,
            Column("id", BigInteger, primary_key=True),
            Column("queue", word),
            Column("key", word),
            Column("kind", Text),
            Column("payload", dialect.json),
            Column("headers", dialect.json),
            Column("group", word),
            Column("priority", SmallInteger),
            Column("status", Text),
            Column("due_at", moment),
            Column("place_at", moment),
            Column("behind_at", moment),
            Column("first_due_at", moment),
            Column("attempts", Integer),
            Column("token", BigInteger),
            Column("leased_by", Text),
            Column("leased_until", moment),
            Column("created_at", moment),
            Column("last_attempt_at", moment),
            Column("last_error", dialect.json),
            *(Column(name, kind) for name, (kind, _) in dialect.derived.items()),
        )
        self.waiting = Table(
            f"{prefix}waiting", metadata, Column("queue", word, primary_key=True), Column("until", moment)
        )
        self.queue = Table(
            f"{prefix}queue",
            metadata,
            Column("name", word, primary_key=True),
            Column("paused", Boolean),
            Column("draining", Boolean),
            Column("definition", dialect.json),
        )
        self.consumer = Table(
            f"{prefix}consumer",
            metadata,
            Column("name", word, primary_key=True),
            Column("about", dialect.json),
            Column("seen_at", moment),
        )
        self.schedule = Table(
            f"{prefix}schedule",
            metadata,
            Column("name", word, primary_key=True),
            Column("definition", dialect.json),
            Column("next_at", moment),
            Column("last_at", moment),
            Column("version", BigInteger),
        )
        self.history = Table(
            f"{prefix}history",
            metadata,
            Column("id", BigInteger, primary_key=True, autoincrement=False),
            Column("token", BigInteger, primary_key=True, autoincrement=False),
            Column("queue", word),
            Column("key", word),
            Column("kind", Text),
            Column("payload", dialect.json),
            Column("headers", dialect.json),
            Column("group", word),
            Column("priority", SmallInteger),
            Column("outcome", Text),
            Column("moved_to", word),
            Column("attempts", Integer),
            Column("created_at", moment),
            Column("first_due_at", moment),
            Column("due_at", moment),
            Column("started_at", moment),
            Column("finished_at", moment),
            Column("worker", Text),
            Column("error", dialect.json),
            Column("until", moment),
        )
        self.remembered = Table(
            f"{prefix}remembered",
            metadata,
            Column("queue", word, primary_key=True),
            Column("key", word, primary_key=True),
            Column("id", BigInteger),
            Column("until", moment),
        )
        self.set = Table(
            f"{prefix}set",
            metadata,
            Column("queue", word, primary_key=True),
            Column("correlation", word, primary_key=True),
            Column("set_id", BigInteger),
            Column("parts", Integer),
            Column("closed_until", moment),
        )
        self.part = Table(
            f"{prefix}part",
            metadata,
            Column("set_id", BigInteger, primary_key=True, autoincrement=False),
            Column("part_id", BigInteger, primary_key=True, autoincrement=False),
            Column("content", dialect.json),
        )
        self.pipeline = Table(
            f"{prefix}pipeline",
            metadata,
            Column("name", word, primary_key=True),
            Column("definition", dialect.json),
            Column("version", BigInteger),
        )
        self.staging = Table(
            f"{prefix}staging",
            metadata,
            Column("id", BigInteger, primary_key=True),
            Column("batch", word),
            Column("part", word),
            Column("entries", Integer),
            Column("keyed", Boolean),
            Column("grouped", Boolean),
            Column("lines", dialect.json),
            Column("due", moment),
            Column("staged_at", moment),
        )
        self.staged = Table(
            f"{prefix}staged",
            metadata,
            Column("staging_id", BigInteger, primary_key=True, autoincrement=False),
            Column("place", Integer, primary_key=True, autoincrement=False),
            Column("queue", word),
            Column("key", word),
            Column("kind", Text),
            Column("payload", dialect.json),
            Column("headers", dialect.json),
            Column("group", word),
            Column("priority", SmallInteger),
            Column("due", moment),
            Column("delay", dialect.span),
        )
        self.noted = Table(
            f"{prefix}noted", metadata, Column("name", word, primary_key=True), Column("noted_at", moment)
        )
        self.counter = Table(
            f"{prefix}counter",
            metadata,
            Column("queue", word, primary_key=True),
            Column("minute", moment, primary_key=True),
            Column("process", word, primary_key=True),
            Column("done", BigInteger),
            Column("failed", BigInteger),
            Column("dead", BigInteger),
            Column("moved", BigInteger),
            Column("waiting", dialect.json),
            Column("handling", dialect.json),
        )
        self.version = Table(
            f"{prefix}schema",
            metadata,
            Column("version", Integer, primary_key=True, autoincrement=False),
            Column("name", Text),
        )
