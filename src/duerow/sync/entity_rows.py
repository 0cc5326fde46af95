# Generated from ../aio/entity_rows.py by tools/generate_sync.py; edit that file instead.
"""The rows of a table as the messages of a queue: find them, load them, and write them in transactions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any, Generic

from sqlalchemy.exc import DBAPIError, IntegrityError
from sqlalchemy.orm import Mapped
from typing_extensions import TypeVar

from duerow import reservation as core
from duerow.clock import Clock
from duerow.entity.handler import check_on_done, is_ours
from duerow.entity.state import QueueState, changed_here, check_deletes, mapper_of, state_of
from duerow.errors import Conflict, SchemaOutdated
from duerow.message import Message
from duerow.retry import RetryFunction, RetryPolicy, as_policy
from duerow.store.backends import check_read_timeout
from duerow.stores.sql.entities.columns import kept_in, missing
from duerow.stores.sql.entities.queries import EntityQueries
from duerow.stores.sql.entities.read_limit import limited_reads
from duerow.stores.sql.errors import explained
from duerow.sync.database import Database
from duerow.sync.executor import again
from duerow.sync.orm import BlockingSession, Engine, OnDone, Session, Work, looked, open_entities, read_in
from duerow.sync.sessions import new_session

E = TypeVar("E", default=Any)
"""The user's model."""

T = TypeVar("T")


class EntityRows(Generic[E]):
    """The part of an entity queue that knows its rows; see `EntityQueue`."""

    def __init__(
        self,
        state: Mapped[QueueState],
        engine: Engine,
        retry: RetryPolicy | RetryFunction | None,
        on_done: OnDone,
        clock: Clock | None,
        read_timeout: timedelta | None,
    ) -> None:
        check_read_timeout(read_timeout)
        self.read_timeout = read_timeout
        self.model: type[E]
        self.model, self.key, self.table = state_of(state)
        self.name = self.table.queue
        self.on_done = check_on_done(on_done)
        if on_done == "delete":
            check_deletes(self.model, self.key)
        self._retry = as_policy(retry)
        store, connections = open_entities(engine, self.table, on_done == "delete", clock)
        self.dialect = engine.dialect.name
        self._database = Database(store, connections, clock)
        self._queries: EntityQueries[E] = EntityQueries(mapper_of(self.model), self.table, clock, kept_in(self.dialect))

    def _read(self, look: Callable[[BlockingSession], T]) -> T:
        """Return the result of an interactive read, made in its own session and stopped after `read_timeout`."""

        def limited(session: BlockingSession) -> T:
            with limited_reads(session, self.read_timeout, self._database.connections):
                return look(session)

        with self.session() as session:
            return read_in(session, limited)

    @property
    def retry(self) -> RetryPolicy:
        """The delays between attempts, and how many attempts are allowed."""
        return self._retry

    def __repr__(self) -> str:
        return f"<EntityQueue {self.name!r}>"

    def session(self) -> Session:
        """Return a new session on the queue's engine; loaded objects stay readable after a commit."""
        return new_session(self._database.connections)

    def in_transaction(self, work: Work[T]) -> T:
        """Do some work in a new session and commit it; repeat all of it if it loses to another transaction.

        Raises:
            Conflict: it lost ten times in a row, or once after waiting for as long as the database allows.
        """

        def transaction() -> T:
            try:
                with self.session() as session:
                    result = work(session)
                    session.commit()
                    return result
            except DBAPIError as error:
                known = explained(kept_in(self.dialect), error)
                # A violated constraint in the user's tables is not a conflict between transactions.
                if isinstance(error, IntegrityError) or not isinstance(known, Conflict):
                    raise
                raise known from error

        try:
            return transaction()
        except Conflict as lost:
            if lost.waited:
                raise
            return again(transaction)

    def check(self) -> None:
        """Raise SchemaOutdated, naming what is missing, unless the table has all columns and indexes of the state.

        Raises:
            ConfigurationError: this server, or this kind of table, cannot give the queue's guarantees.
        """
        with self.session() as session:
            lacking = looked(session, lambda connection: missing(connection, self.table))
        if lacking:
            raise SchemaOutdated(
                f"{self.name} lacks {', '.join(lacking)} in the database; create the table from its model, or add the "
                f"state to it, with Alembic: op.add_queue_state({self.table.name!r}, {self.table.prefix!r})"
            )
        self._database.run(self._database.store.schema.check)

    def load(self, session: Session, reservation: core.BareReservation) -> E | None:
        """Return the row of a reservation in your session; None if the row is gone or the turn has ended."""
        entity = self.row(session, reservation.message.id, populate_existing=True)
        return entity if is_ours(entity, self.key, reservation.message) else None

    def row(self, session: Session, id: Any, locked: bool = False, **options: Any) -> E | None:
        """Return the row with a primary key (the `id` of its messages) in a session; None if there is none.

        Args:
            session: the session to load it in.
            id: the primary key; a tuple if it has several columns.
            locked: lock the row, so that no other transaction can write it until this one ends.
            options: SQLAlchemy execution options, such as `populate_existing`.
        """
        queries = self._queries
        statement = queries.one_locked if locked else queries.one
        found = session.scalars(statement, queries.of_id(id), execution_options=options)
        row: E | None = found.unique().one_or_none()
        return row


def is_left(rows: EntityRows[Any], entity: Any, session: Session, message: Message) -> bool:
    """Return whether the handler itself has deleted or rescheduled its row, which is then left alone."""
    state = entity._sa_instance_state
    if state.was_deleted or state.deleted:
        return True
    if not changed_here(entity, rows.key, session.info):
        return False
    # The session may have undone that since, by rolling back (to a savepoint or entirely): look at the row itself.
    return not is_ours(rows.row(session, message.id, populate_existing=True), rows.key, message)


def load_all(rows: EntityRows[E], session: Session, messages: Sequence[Message]) -> dict[Any, E]:
    """Return the rows that still belong to these messages, keyed by message id, in order."""
    queries = rows._queries
    found = session.scalars(queries.by_ids([message.id for message in messages], rows.dialect))
    return queries.in_line(found.unique(), messages, rows.key)
