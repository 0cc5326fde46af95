# Generated from ../aio/database.py by tools/generate_sync.py; edit that file instead.
"""A database that contains queues, opened with a URL, an engine or a client."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from datetime import timedelta
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self, TypeVar, overload

from duerow.clock import Clock
from duerow.errors import UnknownName
from duerow.message import check_queue_name
from duerow.payload.codec import MAX_PAYLOAD_BYTES
from duerow.payload.encoding import Cipher
from duerow.payload.types import Upgrades
from duerow.queue.definition import Defined, decoded, indexed_again, policy_of
from duerow.queue.reserved import is_reserved
from duerow.retry import RetryFunction, RetryPolicy
from duerow.store import READ_TIMEOUT, Settings, find_backend
from duerow.sync import offload
from duerow.sync.bulk import DatabaseBulk
from duerow.sync.directory import Directory, nearest
from duerow.sync.queue import Queue
from duerow.sync.schedules import Schedules

if TYPE_CHECKING:
    from duerow.pipeline import Pipeline
    from duerow.sync.stations import PipelineWorker

T = TypeVar("T")

LOG: Final = logging.getLogger("duerow.database")


def connect(
    target: Any,
    *,
    migrate: bool = False,
    clock: Clock | None = None,
    prefix: str = "duerow_",
    schema: str | None = None,
    encryption: Cipher | None = None,
    read_timeout: timedelta | None = READ_TIMEOUT,
    **options: Any,
) -> Database:
    """Open the queues of a database, and check that its tables match this version.

    Args:
        target: a URL (`sqlite:///app.db`, `postgresql://user@host/base`, `memory://`), an SQLAlchemy engine, or a
            PyMongo client or database.
        migrate: first create the tables, or update them to this version.
        clock: replaces the database's clock, for tests.
        prefix: the prefix of all table names.
        schema: the database schema that holds the tables; None: the connection's default.
        encryption: the keys for payloads, as a `duerow.encryption.Encryption`; default: payloads are stored in clear
            text.
        read_timeout: how long a search, a count or any other interactive read may take before it raises QueryTimeout;
            default: 30 s; None: no limit. It does not apply in your own transaction, or to workers.
        options: further settings of the store, described on its reference page.

    Raises:
        ConfigurationError: the URL's scheme is unknown, or its driver is not installed.
        SchemaOutdated, SchemaNewer: the tables do not match this version.
        StoreUnavailable: the server cannot be reached.
    """
    settings = Settings(clock, prefix, schema, options, creates=bool(migrate), read_timeout=read_timeout)
    # This imports drivers and SQLAlchemy, which takes a third of a second.
    store, connections = offload.off(lambda: find_backend(target).open(target, settings))
    database = Database(store, connections, clock, encryption)
    try:
        if migrate:
            database.migrate()
        elif "schema" in store.capabilities.parts:
            database.run(store.schema.check, many=offload.MANY)
    except BaseException:
        database.close()
        raise
    return database


class Database(Directory, Schedules):
    """The queues of one database; made by `connect`. As a context manager, it closes itself when the block ends.

    Attributes:
        store: the plans for this family of databases.
        connections: its connections to the server.
        encryption: encrypts and decrypts payloads; None: they are stored in clear text.
        metrics: counts what this handle does, for `stats`.
        handled: its queues that have a handler, in the order in which they got one.
    """

    @property
    def bulk(self) -> DatabaseBulk:
        """Batches that many tasks stage and that become visible all at once; for engines such as Spark."""
        return DatabaseBulk(self)

    # Queues.

    @overload
    def queue(
        self,
        name: str,
        *,
        lease: timedelta = ...,
        retry: RetryPolicy | RetryFunction | None = ...,
        max_payload_bytes: int = ...,
        dead_letter: str | None = ...,
        payload: type[T],
        upgrades: Upgrades | None = ...,
        indexed: Mapping[str, type] | None = ...,
        history: timedelta | None = ...,
        remember_keys: timedelta | None = ...,
    ) -> Queue[T]: ...
    @overload
    def queue(
        self,
        name: str,
        *,
        lease: timedelta = ...,
        retry: RetryPolicy | RetryFunction | None = ...,
        max_payload_bytes: int = ...,
        dead_letter: str | None = ...,
        payload: type[Any] | None = ...,
        upgrades: Upgrades | None = ...,
        indexed: Mapping[str, type] | None = ...,
        history: timedelta | None = ...,
        remember_keys: timedelta | None = ...,
    ) -> Queue[Any]: ...
    def queue(
        self,
        name: str,
        *,
        lease: timedelta = timedelta(minutes=1),
        retry: RetryPolicy | RetryFunction | None = None,
        max_payload_bytes: int = MAX_PAYLOAD_BYTES,
        dead_letter: str | None = None,
        payload: type[Any] | None = None,
        upgrades: Upgrades | None = None,
        indexed: Mapping[str, type] | None = None,
        history: timedelta | None = None,
        remember_keys: timedelta | None = None,
    ) -> Queue[Any]:
        """Return the queue with this name; nothing has to be created.

        Args:
            name: 1 to 100 characters: ASCII letters, digits, and _ . : / -
            lease: how long a reservation lasts unless it is extended.
            retry: the delays between attempts, and how many attempts are allowed; default: at most 20 attempts, with
                delays doubling from 1 s up to 1 h.
            max_payload_bytes: the largest encoded payload; default: 1 MiB.
            dead_letter: the queue that receives messages that have failed for good, with headers that say why; default:
                none; they stay in this queue, with the status dead.
            payload: the type of its payloads: a dataclass, msgspec Struct, pydantic model or TypedDict; see
                `duerow.payload.types`. Default: JSON and bytes.
            upgrades: functions that convert other payloads to that type, by kind or by older type.
            indexed: payload fields to search messages by, each with the type of its values (int, float, str or bool),
                such as `{"companyId": int, "to.city": str}`. `Queue.declare` creates their indexes.
            history: how long finished turns are kept; default: they are not kept. See `Queue.history`.
            remember_keys: how long the keys of messages that have left the queue (done, dead, moved, removed, popped)
                are remembered, so that pushing a message with one of these keys through this handle counts as a
                duplicate; default: they are not remembered.

        Raises:
            InvalidMessage: a name, the lease, `history` or `remember_keys` is out of bounds.
            ConfigurationError: dead letters would go in circles, the type cannot be declared, an upgrade is not a
                function, or a field cannot be indexed.
        """
        return Queue(
            self,
            name,
            lease,
            retry,
            max_payload_bytes,
            dead_letter,
            payload,
            upgrades,
            indexed,
            history,
            remember_keys,
        )

    def as_defined(self, name: str, *, payload: type[Any] | None = None, known: bool = False) -> Queue[Any]:
        """Return a queue with the settings stored in the database, and default settings where none are stored.

        This is for programs that do not declare the queue themselves.

        Args:
            name: its name.
            payload: the type of its payloads, which the database does not store.
            known: refuse a name that the database has no record of, since it is probably a typo.

        Raises:
            ConfigurationError: its definition was written by a version whose format this one does not understand.
            UnknownName: `known` was set, and the database has no record of such a queue.
        """
        called = check_queue_name(name)
        said = self.run(lambda: self.store.metadata.settings(called))
        if known and not said and not self.knows_queue(called):
            raise UnknownName("queue", called, nearest(called, self.known_queues()))
        definition = decoded(called, said[0].definition) if said else None
        if definition is None:
            return self.queue(called, payload=payload)
        return self.queue(
            called,
            payload=payload,
            lease=definition.lease,
            retry=policy_of(called, definition),
            max_payload_bytes=definition.max_payload_bytes,
            dead_letter=definition.dead_letter,
            history=definition.history,
            remember_keys=definition.remember_keys,
            indexed=indexed_again(definition.indexed),
        )

    def queues(self, *, reserved: bool = False) -> list[str]:
        """Return the names of the queues that have messages; `known_queues` includes empty queues.

        Args:
            reserved: include the queues that duerow itself uses; see `known_queues`.
        """
        found = self.run(self.store.operations.queues)
        return [name for name in found if reserved or not is_reserved(name)]

    def definitions(self) -> list[Defined]:
        """Return the stored definitions and settings of queues, ordered by name; queues without any are left out.

        Raises:
            ConfigurationError: a definition was written by a version whose format this one does not understand.
        """
        said = self.run(self.store.metadata.settings)
        return [Defined(one.queue, decoded(one.queue, one.definition), one.paused, one.draining) for one in said]

    # Pipelines.

    def pipeline_worker(self, pipeline: Pipeline, rehome: Mapping[str, str] | None = None) -> PipelineWorker:
        """Return an object that runs a pipeline on plain workers; see `Pipeline.worker`."""
        from duerow.sync.stations import PipelineWorker  # few programs need it

        return PipelineWorker(pipeline, self, rehome)

    # The tables.

    def migrate(self) -> list[str]:
        """Update the tables to this version; return the names of the migrations that were applied."""
        if "schema" not in self.store.capabilities.parts:  # there are no tables
            return []
        return self.run(self.store.schema.migrate, many=offload.MANY)  # its statements take a long time to build

    def migration_sql(self) -> str:
        """Return the statements that create the tables, for somebody with the rights to run them."""
        return self.store.schema.migration_sql()

    def roles_sql(
        self,
        *,
        producer: str | None = None,
        consumer: str | None = None,
        operator: str | None = None,
        reader: str | None = None,
    ) -> str:
        """Return the statements that grant four roles their rights on the tables, for an administrator to run.

        The roles must exist. The default names are the prefix and the argument's name, such as `duerow_producer`.

        Args:
            producer: the role that pushes.
            consumer: the role that runs workers and pipelines.
            operator: the role that can do everything except change the tables.
            reader: the role that only reads.

        Raises:
            ConfigurationError: a name is not valid for a role.
            NotSupported: the database has no roles (SQLite, memory), or no statements to grant rights (MongoDB).
        """
        given = {"producer": producer, "consumer": consumer, "operator": operator, "reader": reader}
        return self.store.schema.roles_sql({role: name for role, name in given.items() if name is not None})

    def close(self) -> None:
        """Close idle connections; an engine that the user passed stays open."""
        try:
            self.write_counts()
        except Exception as error:  # the database may be gone; closing must still work
            named = {"event": "not-counted"}
            LOG.warning("the counts for the last few seconds are missing from the stats: %s", error, extra=named)
        self.connections.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
