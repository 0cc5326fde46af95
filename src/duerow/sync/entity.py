# Generated from ../aio/entity.py by tools/generate_sync.py; edit that file instead.
"""A queue whose messages are rows of the user's own table: `EntityQueue(SmsMessage.sending, engine)`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any, Generic, overload

from msgspec import UNSET
from sqlalchemy import ColumnElement
from sqlalchemy.exc import DBAPIError, IntegrityError
from sqlalchemy.orm import Mapped
from typing_extensions import TypeVar

from duerow import reservation as core
from duerow.clock import Clock
from duerow.entity.handling import check_attempt, check_on_done, check_worker, conclude, fails, is_ours
from duerow.entity.state import QueueState, changed_here, check_deletes, mapper_of, state_of
from duerow.errors import Conflict, InvalidMessage, LeaseLost, MessageLeased, SchemaOutdated
from duerow.message import Failure, Message, Status
from duerow.queue.counts import CAP, Count, Counts, counted, counted_by
from duerow.queue.edits import Changed, how_many
from duerow.queue.mapping import readable
from duerow.queue.stats import Reason, reasons_of_row
from duerow.retry import RetryFunction, RetryPolicy
from duerow.settlement import LEFT, Bury, Commit, Left, Retry, Settlement, decide
from duerow.store import Refused
from duerow.stores.sql.entities.columns import kept_in, missing
from duerow.stores.sql.entities.keys import parts_of
from duerow.stores.sql.entities.queries import EntityQueries, Standing
from duerow.stores.sql.errors import explained
from duerow.sync.database import Database, again
from duerow.sync.queue import Queue, Reservation
from duerow.sync.sessions import (
    Engine,
    OnDone,
    Session,
    Work,
    called,
    engine_here,
    first_read_alone,
    looked,
    new_session,
    open_entities,
    session_within,
)

E = TypeVar("E", default=Any)
"""The user's model."""

T = TypeVar("T")


class EntityQueue(Generic[E]):
    """The rows of a table as a queue, by one of their queue states; its methods work like those of `duerow.Queue`.

    It has no table of its own, so nothing has to be created or closed. A reservation's message has its row's primary
    key as `id` (a tuple if the key has several columns), and no payload: `load` returns the row.

    Args:
        state: the state, as in `SmsMessage.sending`.
        engine: your engine.
        lease: how long a reservation lasts unless it is extended.
        retry: the delays between attempts, and how many attempts are allowed; default: at most 20 attempts, with delays
            doubling from 1 s up to 1 h.
        on_done: what to do with a row that is done: "keep" leaves it with the status `done`, "delete" deletes it, and
            a function is called with it and a session, in the transaction that marks it as done.
        permits: a duerow database in which workers with `singleton` or `cluster_concurrency` keep their permits.
        clock: tells the time instead of the database; for tests.

    Attributes:
        model: the class of its rows.
        name: the table and the state, as in `sms_message.sending`.

    Raises:
        ConfigurationError: `state` is not a queue state of a model with its own table, `engine` is of the wrong kind
            (sync or async), or another argument is invalid (InvalidMessage: the lease).
    """

    def __init__(
        self,
        state: Mapped[QueueState],
        engine: Engine,
        *,
        lease: timedelta = timedelta(minutes=1),
        retry: RetryPolicy | RetryFunction | None = None,
        on_done: OnDone = "keep",
        permits: Database | None = None,
        clock: Clock | None = None,
    ) -> None:
        self.model: type[E]
        self.model, self.key, self.table = state_of(state)
        self.name = self.table.queue
        self.on_done = check_on_done(on_done)
        if on_done == "delete":
            check_deletes(self.model, self.key)
        store, connections = open_entities(engine, self.table, on_done == "delete", clock)
        database = Database(store, connections, clock)
        self.dialect = engine.dialect.name
        self.line = EntityLine(self, database, lease, retry, permits)
        self._looking: EntityQueries[E] = EntityQueries(mapper_of(self.model), self.table, clock, kept_in(self.dialect))

    def __repr__(self) -> str:
        return f"<EntityQueue {self.name!r}>"

    @property
    def lease(self) -> timedelta:
        """How long a reservation lasts unless it is extended."""
        return self.line.lease

    @property
    def retry(self) -> RetryPolicy:
        """The delays between attempts, and how many attempts are allowed."""
        return self.line.retry

    def session(self) -> Session:
        """Return a new session on the queue's engine; loaded objects stay readable after a commit."""
        return new_session(self.line.database.connections)

    def in_transaction(self, work: Work[T]) -> T:
        """Do some work in a new session and commit it; repeat it as a whole if it loses to another transaction.

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
                # A violated constraint of the user's tables is not a conflict between transactions.
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
        database = self.line.database
        database.run(database.store.check)

    # Reserve.

    def reserve(self, *, lease: timedelta | None = None) -> Reservation | None:
        """Reserve the next due row for this consumer until now + lease; None when nothing is due."""
        return self.line.reserve(lease=lease)

    def reserve_many(self, n: int, *, lease: timedelta | None = None, consumer: str | None = None) -> list[Reservation]:
        """Reserve up to n due rows, oldest first, never one for two consumers; see Queue.reserve_many."""
        return self.line.reserve_many(n, lease=lease, consumer=consumer)

    def load(self, session: Session, reservation: core.BareReservation) -> E | None:
        """Return the row of a reservation in your session; None if the row is gone or the turn has ended."""
        entity = self.row(session, reservation.message.id, populate_existing=True)
        return entity if is_ours(entity, self.key, reservation.message) else None

    def row(self, session: Session, id: Any, locked: bool = False, **options: Any) -> E | None:
        """Return the row with a primary key, the `id` of its messages, in a session; None if there is none.

        Args:
            session: the session to load it in.
            id: the primary key; a tuple if it has several columns.
            locked: lock the row, so that no other transaction can write it until this one ends.
            options: SQLAlchemy execution options, such as `populate_existing`.
        """
        looking = self._looking
        statement = looking.one_locked if locked else looking.one
        found = session.scalars(statement, looking.of_id(id), execution_options=options)
        row: E | None = found.unique().one_or_none()
        return row

    @contextmanager
    def reserving(self, *, lease: timedelta | None = None) -> Iterator[tuple[E, Session] | None]:
        """Reserve the next due row for the duration of a block: `with queue.reserving() as lent:`.

        Yields the row and its session, or None when nothing is due. The end of the block commits the session and then
        the turn. An exception rolls the turn back by the queue's policy and is raised again (`Retry` and `Bury` end
        the turn as they say and are not raised again).
        """
        reservation = self.reserve(lease=lease)
        if reservation is None:
            yield None
            return
        try:
            with self.session() as session:
                entity = self.load(session, reservation)
                if entity is None:
                    yield None
                    return
                yield entity, session
                session.commit()
                if self._is_left(entity, session, reservation.message):
                    return
        except (Retry, Bury) as wish:
            self.line.end(reservation, decide(reservation.message, wish, self.retry))
        except BaseException as error:
            self.line.end(reservation, decide(reservation.message, error, self.retry))
            raise
        else:
            self.commit(reservation)

    # Settle.

    def commit(self, reservation: core.BareReservation, *, within: Any = None) -> None:
        """End the turn: the row is done, and `on_done` is applied to it.

        Raises:
            LeaseLost: the row was already taken over, changed, rescheduled, deleted or settled; nothing was changed.
        """
        self.line.commit(reservation, within=within)

    def rollback(
        self,
        reservation: core.BareReservation,
        *,
        delay: timedelta | None = None,
        error: BaseException | Failure | str | None = None,
        within: Any = None,
    ) -> None:
        """End the turn as failed: the row is due again after a delay, or as the policy says; see Queue.rollback."""
        self.line.rollback(reservation, delay=delay, error=error, within=within)

    def bury(
        self, reservation: core.BareReservation, reason: str | Failure | BaseException, *, within: Any = None
    ) -> None:
        """End the turn: the row is dead, with the reason. LeaseLost as in `commit`."""
        self.line.bury(reservation, reason, within=within)

    def release(self, reservation: core.BareReservation, *, within: Any = None) -> None:
        """Give back a row that was not started: same due time, place and attempts. LeaseLost as in `commit`."""
        self.line.release(reservation, within=within)

    def extend(
        self, reservation: core.BareReservation, lease: timedelta | None = None, *, within: Any = None
    ) -> Reservation:
        """Extend the lease until now + lease; return the reservation with its new end. LeaseLost as in `commit`."""
        return self.line.extend(reservation, lease, within=within)

    def commit_many(self, reservations: Iterable[core.BareReservation], *, within: Any = None) -> list[Refused]:
        """Like `commit`, in one statement; return those that were refused, each with its error."""
        return self.line.commit_many(reservations, within=within)

    def rollback_many(
        self,
        reservations: Iterable[core.BareReservation],
        *,
        delay: timedelta | None = None,
        error: BaseException | Failure | str | None = None,
        within: Any = None,
    ) -> list[Refused]:
        """Like `rollback`, in one statement; return those that were refused, each with its error."""
        return self.line.rollback_many(reservations, delay=delay, error=error, within=within)

    def bury_many(
        self, reservations: Iterable[core.BareReservation], reason: str | Failure | BaseException, *, within: Any = None
    ) -> list[Refused]:
        """Like `bury`, in one statement; return those that were refused, each with its error."""
        return self.line.bury_many(reservations, reason, within=within)

    def release_many(self, reservations: Iterable[core.BareReservation], *, within: Any = None) -> list[Refused]:
        """Like `release`, in one statement; return those that were refused, each with its error."""
        return self.line.release_many(reservations, within=within)

    def extend_many(
        self, reservations: Iterable[core.BareReservation], lease: timedelta | None = None, *, within: Any = None
    ) -> list[Refused]:
        """Extend the leases until now + lease; return those that were refused, each with its error."""
        return self.line.extend_many(reservations, lease, within=within)

    def settle(self, pairs: Iterable[tuple[core.BareReservation, Settlement]], *, within: Any = None) -> list[Refused]:
        """End many turns, each in its own way, in one transaction; return those refused, each with its error."""
        return self.line.settle(pairs, within=within)

    # Look and change.

    def find(
        self,
        *where: ColumnElement[bool],
        status: Status | None = None,
        order_by: Any = None,
        limit: int = 100,
        after: Any = None,
    ) -> list[E]:
        """Return rows that meet all conditions, one page at a time.

        Args:
            where: conditions on columns of the model, as in `SmsMessage.sender == "me"`.
            status: only rows with this status.
            order_by: a column, or a list of them; default: the primary key.
            limit: the most rows to return.
            after: the id of the last row of the previous page, if ordered by primary key.

        Raises:
            ConfigurationError: there is no such status, or `after` is given with another order.
        """
        statement = self._looking.find(where, status, order_by, how_many(limit), after)
        with self.session() as session:
            return list((session.scalars(statement)).unique())

    @overload
    def count(
        self,
        *where: ColumnElement[bool],
        status: Status | None = None,
        by: None = None,
        exact: bool = False,
    ) -> Count: ...
    @overload
    def count(
        self,
        *where: ColumnElement[bool],
        status: Status | None = None,
        by: Any,
        exact: bool = False,
    ) -> Counts: ...
    def count(
        self,
        *where: ColumnElement[bool],
        status: Status | None = None,
        by: Any = None,
        exact: bool = False,
    ) -> Count | Counts:
        """Count rows, in total or by the values of a column, as in `by=SmsMessage.sender`.

        Args:
            where: only rows that meet these conditions on columns of the model.
            status: only rows with this status.
            by: count for each value of this column.
            exact: count all; default: stop at 10,000; the result's `capped` says so.

        Raises:
            ConfigurationError: there is no such status.
        """
        limit = None if exact else CAP
        statement = self._looking.count(where, status, by, limit)
        with self.session() as session:
            tally = [(value, number) for value, number in session.execute(statement)]
        return counted(tally, limit) if by is None else counted_by(tally, limit)

    def stats(self, *, exact: bool = False) -> Standing:
        """Return the state of the queue: how many rows are ready, delayed, leased and dead, and the next due time.

        Args:
            exact: count all; default: count up to 10,000 of each.
        """
        cap = None if exact else CAP
        with self.session() as session:
            row = (session.execute(self._looking.standing(cap))).one()
        return self._looking.stands(row, cap)

    def why(self, id: Any) -> list[Reason]:
        """Return why a row is not running, as codes and sentences: ready, not-due, stopped, leased, limit, done, dead.

        Raises:
            InvalidMessage: there is no such row, or `id` is not a primary key of its table.
        """
        parts_of(self.table.keys, id)
        database, name, wanted = self.line.database, self.name, id
        seen = database.run(lambda: database.store.inspect(name, wanted, None))
        if seen is None:
            raise InvalidMessage(f"{name} has no row with id {id}; it may have been deleted")
        return reasons_of_row(seen, readable(seen.record), self.retry.limit)

    def reschedule(
        self,
        *where: ColumnElement[bool],
        id: Any = None,
        due: datetime | None = UNSET,  # type: ignore[assignment]
        delay: timedelta | None = None,
        dry_run: bool = False,
        even_if_leased: bool = False,
        within: Any = None,
    ) -> Changed:
        """Change the due time of rows, or stop them; a dead row runs once more and keeps its attempts.

        One UPDATE, in one transaction. Rows that are done stay as they are: use the state's `schedule()` for them.

        Args:
            where: all rows that meet these conditions on columns of the model.
            id: or the row with this primary key.
            due: when they are due; None stops them until they are scheduled again.
            delay: how long from now; `timedelta(0)` is now.
            dry_run: change nothing, only return how many would change.
            even_if_leased: include rows that a consumer is working on: its settlement will be refused.
            within: your open session or SQLAlchemy connection.

        Raises:
            MessageLeased: a consumer is working on the row given by id; conditions skip such rows.
            ConfigurationError: not exactly one of due and delay was given, or no rows are given.
        """
        meant, values = self._looking.meant(where, id, due is None), self._looking.rescheduled(due, delay)
        return self._change(meant, id, values, dry_run, even_if_leased, within)

    def requeue(
        self,
        *where: ColumnElement[bool],
        id: Any = None,
        dry_run: bool = False,
        even_if_leased: bool = False,
        within: Any = None,
    ) -> Changed:
        """Reset rows: due now, status `new`, attempts 0, no error. Otherwise like `reschedule`."""
        meant, values = self._looking.meant(where, id, False), self._looking.requeued()
        return self._change(meant, id, values, dry_run, even_if_leased, within)

    def _change(
        self,
        meant: Sequence[Any],
        id: Any,
        values: Mapping[str, Any],
        dry_run: bool,
        even_if_leased: bool,
        within: Any,
    ) -> Changed:
        def change(session: Session) -> Changed:
            free, leased, holder = (session.execute(self._looking.numbers(meant))).one()
            if even_if_leased:
                free, leased = free + leased, 0
            if id is not None and leased:
                raise MessageLeased(id, holder)
            if dry_run:
                return Changed(free, leased)
            changed: Any = session.execute(self._looking.change(meant, values, even_if_leased))
            return Changed(changed.rowcount, leased)

        if within is None:
            return self.in_transaction(change)
        with session_within(within) as session:
            return change(session)

    # Workers.

    def settle_in(self) -> None:
        """Bind the engine to the running loop; work for this queue in other loops gets an engine like it."""
        engine_here(self.line.database.connections)

    def handling(
        self,
        handler: Callable[..., Any],
        whole_batch: bool,
        transactional: bool,
        by_permit: bool,
        processes: int | None,
    ) -> Callable[..., Any]:
        """Return the handler of messages that calls a handler of rows; for `Worker`."""
        check_worker(self.name, processes, by_permit and self.line.permits is None)
        kind = HandlingOfBatches if whole_batch else HandlingWithin if transactional else Handling
        return kind(self, handler)

    def _is_left(self, entity: Any, session: Session, message: Message) -> bool:
        """Return whether the handler itself has deleted or rescheduled its row: then the row stays like that."""
        state = entity._sa_instance_state
        if state.was_deleted or state.deleted:
            return True
        if not changed_here(entity, self.key, session.info):
            return False
        # The session may have undone it since, by a rollback or one to a savepoint: look at the row itself.
        return not is_ours(self.row(session, message.id, populate_existing=True), self.key, message)


class EntityLine(Queue):
    """An entity queue as a worker sees it: a queue of messages without payloads.

    Args:
        entities: the entity queue.
        database: executes its plans.
        lease, retry: as in `Queue`.
        permits: the database in which its workers keep their permits.
    """

    locked_while_handled = True

    def __init__(
        self,
        entities: EntityQueue[Any],
        database: Database,
        lease: timedelta,
        retry: RetryPolicy | RetryFunction | None,
        permits: Database | None,
    ) -> None:
        super().__init__(database, entities.name, lease, retry)
        self._entities, self.permits = entities, permits

    def on_terms(self, lease: timedelta | None, retry: RetryPolicy | RetryFunction | None) -> EntityLine:
        """Return another handle with this lease and retry policy; None: the same as here."""
        return EntityLine(
            self._entities,
            self.database,
            self.lease if lease is None else lease,
            self.retry if retry is None else retry,
            self.permits,
        )

    def settle(self, pairs: Iterable[tuple[core.BareReservation, Settlement]], *, within: Any = None) -> list[Refused]:
        """End turns, except those to be left alone; call `on_done` with each row that is done if it is a function."""
        ours = [pair for pair in pairs if not isinstance(pair[1], Left)]
        function = self._entities.on_done
        done = [reservation for reservation, settlement in ours if isinstance(settlement, Commit)]
        if not callable(function) or not done:
            return super().settle(ours, within=within) if ours else []
        settle = super().settle

        def finish(session: Session) -> list[Refused]:
            refused = settle(ours, within=session if within is None else within)
            self._finish(function, done, refused, session)
            return refused

        if within is None:
            return self._entities.in_transaction(finish)
        with session_within(within) as session:
            return finish(session)

    def end(self, reservation: core.BareReservation, settlement: Settlement) -> None:
        """End one turn; raise the error if it is refused."""
        self._settle_one(reservation, settlement)

    def _settle_one(self, reservation: core.BareReservation, settlement: Settlement, within: Any = None) -> None:
        self._check_lent(reservation)
        refused = self.settle([(reservation, settlement)], within=within)
        if refused:
            error = refused[0].error
            raise LeaseLost(error.message_id, reservation.until) if isinstance(error, LeaseLost) else error

    def _finish(
        self, function: Any, done: Sequence[core.BareReservation], refused: Sequence[Refused], session: Session
    ) -> None:
        """Call the function with each row that is now done."""
        lost = {one.receipt for one in refused}
        for reservation in done:
            if reservation.receipt not in lost:
                entity = self._entities.row(session, reservation.message.id, populate_existing=True)
                if entity is not None:
                    called(function, entity, session)
        session.flush()


class Handling:
    """Handles a message by giving its row to the user's handler, in a session that is committed before the turn ends.

    Args:
        queue: the queue of the messages.
        handler: takes a row and its session.
    """

    def __init__(self, queue: EntityQueue[Any], handler: Callable[..., Any]) -> None:
        self.queue, self.handler = queue, handler

    def __call__(self, message: Message) -> Any:
        """Return how the turn ends."""
        queue = self.queue
        with queue.session() as session:
            first_read_alone(session)
            entity = queue.row(session, message.id)
            if not is_ours(entity, queue.key, message):
                return LEFT
            session.commit()  # no transaction is open while the handler does its work elsewhere
            outcome = called(self.handler, entity, session)
            if fails(outcome):
                return outcome
            check_attempt(message)
            session.commit()
            return LEFT if queue._is_left(entity, session, message) else outcome


class HandlingWithin(Handling):
    """Like `Handling`, in the transaction that ends the turn: the row is locked before the handler sees it."""

    def __call__(self, message: Message, connection: Any) -> Any:  # type: ignore[override]
        """Return how the turn ends."""
        queue = self.queue
        with session_within(connection) as session:
            entity = queue.row(session, message.id, locked=True)
            if not is_ours(entity, queue.key, message):
                return LEFT
            outcome = called(self.handler, entity, session)
            if fails(outcome):
                return outcome
            session.flush()
            return LEFT if queue._is_left(entity, session, message) else outcome


class HandlingOfBatches(Handling):
    """Like `Handling`, with the rows of a whole batch in one session."""

    def __call__(self, messages: Sequence[Message]) -> Any:  # type: ignore[override]
        """Return how the turns end."""
        queue = self.queue
        with queue.session() as session:
            found = session.scalars(queue._looking.by_ids([message.id for message in messages], queue.dialect))
            rows = queue._looking.in_line(found.unique(), messages, queue.key)
            session.commit()
            if not rows:
                return [LEFT] * len(messages)
            outcome = called(self.handler, list(rows.values()), session)
            if fails(outcome):
                return conclude(messages, rows, outcome, set())
            session.commit()
            by_id = {message.id: message for message in messages}
            left = {id for id, entity in rows.items() if queue._is_left(entity, session, by_id[id])}
            return conclude(messages, rows, outcome, left)
