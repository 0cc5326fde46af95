"""The connections of an engine, and the caller's own transaction."""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections import deque
from collections.abc import Sequence
from datetime import timedelta
from functools import cached_property
from typing import Any, Final

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import UnboundExecutionError

from duerow.plan import Execute
from duerow.store import ArrowScan, Listener, Scan
from duerow.stores.silent_listener import SilentListener
from duerow.stores.sql.adbc import adbc_scan
from duerow.stores.sql.connections.callers import (
    caller_of,
    check_begun,
    check_open,
    no_engine,
    not_ours,
    session_of,
    unwrapped,
)
from duerow.stores.sql.connections.compiled import Texts, callers_texts
from duerow.stores.sql.connections.engines import AT_HAND, RESTED
from duerow.stores.sql.connections.fork import GATE, abandon, check_not_inherited, prepare_for_forks
from duerow.stores.sql.connections.handler_transactions import (
    engine_for_handlers,
)
from duerow.stores.sql.connections.identity import Identities
from duerow.stores.sql.connections.listeners import DataVersionListener, NotifyListener
from duerow.stores.sql.connections.ownership import Whose
from duerow.stores.sql.connections.sync.handlers import BlockingTransaction
from duerow.stores.sql.connections.sync.in_parts import InPartsThroughSqlalchemy, RawInParts
from duerow.stores.sql.connections.sync.joined import JoinedExecute, check_database
from duerow.stores.sql.connections.sync.prepared import PreparedStatements, prepared_on
from duerow.stores.sql.connections.sync.raw import Raw
from duerow.stores.sql.connections.sync.through_sqlalchemy import ThroughSqlalchemy
from duerow.stores.sql.errors import explained, is_lost, unconnected, unusable
from duerow.stores.sql.plans.context import Context
from duerow.stores.sql.table_identity import place_of

_PREPARED: Final = "duerow_prepared"


class BlockingConnections:
    """Connections of one engine.

    Args:
        engine: duerow's own engine, or the user's.
        context: the context of the plans.
        own: whether `close` also closes the engine.
        read_timeout: the time limit of an interactive read outside the caller's own transaction; None: no limit.
    """

    def __init__(self, engine: Engine, context: Context, own: bool, read_timeout: timedelta | None = None) -> None:
        self.engine, self.context, self.own, self.read_timeout = engine, context, own, read_timeout
        self.dialect = context.dialect
        self.place = place_of(engine, context)
        self.begin_texts()
        self.of_handlers: set[Connection] = set()
        self._identities = Identities(context, engine)
        self.on_sqlite = self.dialect.name == "sqlite"
        self.in_parts = self.dialect.takes_parts
        self._begin_anew()
        prepare_for_forks(self)

    def begin_texts(self) -> None:
        """Start compiling statements for the store's current dialect."""
        self._texts = Texts(self.dialect, self.engine.dialect, raw=True)
        self._callers_texts: dict[Any, Texts] = {}

    def _begin_anew(self) -> None:
        # The last used connections are kept at hand: getting one from the pool costs a third of a push.
        self._at_hand: deque[Link] = deque()
        # SQLite lets only one transaction write at a time. Threads of a process wait for each other here and continue
        # immediately; SQLite itself would sleep for longer and longer intervals.
        self._writing = threading.Lock() if self.dialect.writes_alone else None

    def open(self) -> Opened:
        """Lend a connection; see Connections.open."""
        return Opened(self)

    @property
    def writing(self) -> threading.Lock | None:
        """The lock for the thread that writes, if only one transaction can write at a time."""
        return self._writing

    def take(self) -> Link:
        """Return a connection: a recently used one at hand, or else one from the pool."""
        while self._at_hand:
            try:
                link = self._at_hand.pop()
            except IndexError:  # another thread was faster
                break
            if self.on_sqlite or time.monotonic() - link.used < RESTED or self._answers(link):
                return link
        self.check_usable()
        try:
            lent = self.engine.raw_connection()
        except Exception as error:
            raise (unconnected(self.dialect, error) or error) from error
        raw = lent.driver_connection
        if self.in_parts:
            self.detect_server(raw)
            steps = self.steps_in_parts(raw, self._texts, "own" if self.own else "lent")
        else:
            steps = Raw(raw, self.dialect, self._texts, self._writing)
        steps.limit = self.read_timeout
        if self.own:
            steps.prepared = _prepared(lent, raw)
        return Link(lent, steps)

    def _answers(self, link: Link) -> bool:
        """Return whether the server has kept open a connection that has been idle; if not, discard it."""
        try:
            link.execute.answer()
        except BaseException as error:
            _discard(link)
            if not isinstance(error, Exception):
                raise
            return False
        return True

    def rest(self, link: Link) -> None:
        """Take back a connection after use."""
        if self.own and len(self._at_hand) < AT_HAND:
            link.used = time.monotonic()
            self._at_hand.append(link)
        else:
            link.lent.close()

    def give_up(self, link: Link, error: BaseException) -> None:
        """Roll back; if the connection is broken, neither it nor the other idle connections are lent again."""
        undone = link.execute.rolled_back()
        if is_lost(error) or not undone:
            _discard(link)
            self._close_at_rest()
        else:
            with contextlib.suppress(Exception):  # a discarded connection may fail to close
                self.rest(link)

    def join(self, within: Any) -> Execute:
        """Use the caller's transaction; see Connections.join."""
        try:
            return self._join(within)
        except Exception as error:
            raise unusable(self.dialect, error) from error

    def _join(self, within: Any) -> Execute:
        within = session_of(within)
        if _is_session(within):
            try:
                within = within.connection()
            except UnboundExecutionError as error:
                raise no_engine() from error
        if isinstance(within, Connection):
            return self._join_sqlalchemy(within)
        raw = unwrapped(within)
        joined = self.steps_on_callers(raw, within)
        self._check_database(joined, raw)
        return JoinedExecute(joined, self.context)

    def steps_on_callers(self, raw: Any, within: Any) -> Raw:
        """Return the object that runs steps on the caller's driver connection, without checking its database.

        Args:
            raw: the connection.
            within: the caller's argument, for errors.
        """
        driver = caller_of(raw, self.dialect.callers, awaited=False)
        if driver is None:
            raise not_ours(within, self.dialect.callers, self.dialect.name, "blocking")
        check_open(raw, self.dialect.callers[driver])
        self.detect_server(raw)
        if driver not in self._callers_texts:
            self._callers_texts[driver] = callers_texts(self.dialect, driver)
        return self._raw_joined(raw, self._callers_texts[driver])

    def _check_database(self, execute: Execute, raw: Any, info: Any = None) -> None:
        """Raise ConfigurationError if the caller's connection writes to tables other than the queue's."""
        check_database(self._identities, execute, raw, info, self.open)

    def _raw_joined(self, raw: Any, texts: Texts) -> Raw:
        return self.steps_in_parts(raw, texts, "joined") if self.in_parts else Raw(raw, self.dialect, texts)

    def _join_sqlalchemy(self, connection: Connection) -> Execute:
        if connection in self.of_handlers:  # begun by duerow, so its driver can be called directly, at half the cost
            raw = self._raw_joined(connection.connection.driver_connection, self._texts)
            raw.begun = True
            return JoinedExecute(raw, self.context)
        if connection.dialect.name not in self.dialect.names:
            raise not_ours(connection, self.dialect.callers, self.dialect.name, "blocking")
        check_begun(connection.connection, self.dialect.callers)
        self.detect_server(connection.connection.driver_connection)
        # Connections of another handle's own engine take values that those of a user's engine do not.
        key = (connection.dialect.driver, self.dialect.spelling(connection.dialect))
        if key not in self._callers_texts:
            self._callers_texts[key] = Texts(self.dialect, connection.dialect, raw=False, lenient=True)
        joined = self.steps_through(connection, self._callers_texts[key])
        if not self._identities.is_ours(connection.engine.pool):
            self._check_database(joined, connection.connection.driver_connection, connection.info)
        return JoinedExecute(joined, self.context)

    # Overridden by families whose drivers differ.

    def detect_server(self, raw: Any) -> None:
        """Detect the kind of server from a driver's connection, if a family has several kinds."""

    def steps_in_parts(self, raw: Any, texts: Texts, whose: Whose) -> Raw:
        """Return the object that runs steps on a driver's connection if some steps take several statements."""
        return RawInParts(raw, self.dialect, texts, whose)

    def steps_through(self, connection: Connection, texts: Texts) -> ThroughSqlalchemy:
        """Return the object that runs steps on an SQLAlchemy connection."""
        through = InPartsThroughSqlalchemy if self.in_parts else ThroughSqlalchemy
        return through(connection, self.dialect, texts)

    def begin(self) -> BlockingTransaction:
        """Begin a transaction for a handler; see Connections.begin."""
        return BlockingTransaction(self)

    @cached_property
    def engine_for_handlers(self) -> Engine:
        """The engine for handlers' transactions."""
        return engine_for_handlers(self.engine)

    def arrow_scan(self, query: Scan, shown: Sequence[str]) -> ArrowScan | None:
        """Return a scan that returns Arrow; see ArrowConnections."""
        way = self.dialect.arrow(self.engine.url) if self.own else None
        return None if way is None else adbc_scan(self.context, way, query, shown)

    def listen(self, queues: Sequence[str]) -> Listener:
        """Listen for pushes; see Connections.listen."""
        if self.on_sqlite:
            with GATE.inside():
                return DataVersionListener(self._detached)
        if self.engine.dialect.driver == "psycopg":
            return NotifyListener(self._detached(), self.context.statements.context.channel, queues)
        return SilentListener()

    def _detached(self) -> Any:
        """Return a connection that is permanently removed from the pool."""
        self.check_usable()
        try:
            lent = self.engine.raw_connection()
            driver_connection = lent.driver_connection  # not available on a detached connection
            lent.detach()
        except Exception as error:
            raise (explained(self.dialect, error) or error) from error
        return driver_connection

    def close(self) -> None:
        """Close the idle connections if the engine is duerow's own."""
        with GATE.inside():
            self._close_at_rest()

    def _close_at_rest(self) -> None:
        while self._at_hand:
            with contextlib.suppress(IndexError):  # another thread was faster
                self._at_hand.pop().lent.close()
        if self.own:
            self.engine.dispose()

    def here(self) -> Engine:
        """Return the engine."""
        self.check_usable()
        return self.engine

    def check_usable(self) -> None:
        """Raise ConfigurationError if the database cannot be used in this process because of how it was forked."""
        if self.on_sqlite:
            check_not_inherited(self.engine.url.database)

    def before_fork(self) -> None:
        """See Forkable.before_fork."""
        if self.on_sqlite:
            self._close_at_rest()

    def after_fork(self) -> None:
        """See Forkable.after_fork."""
        abandon(self._at_hand)
        self._begin_anew()
        self.context.floors.begin_anew()
        if self.own:
            abandon(self.engine.pool)
            self.engine.dispose(close=False)


class Link:
    """A pooled connection, and the object that runs steps on it."""

    __slots__ = ("execute", "lent", "used")

    def __init__(self, lent: Any, execute: Raw) -> None:
        self.lent, self.execute = lent, execute
        self.used = 0.0


class Opened:
    """A connection for a block: committed when the block ends, or rolled back on an exception."""

    __slots__ = ("connections", "inside", "link")

    def __init__(self, connections: BlockingConnections) -> None:
        self.connections = connections

    def __enter__(self) -> Execute:
        self.inside = GATE.enter() if self.connections.on_sqlite else None
        try:
            self.link = self.connections.take()
        except BaseException:
            if self.inside is not None:
                GATE.leave(self.inside)
            raise
        return self.link.execute

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        try:
            if error is not None:
                self.connections.give_up(self.link, error)
                return
            try:
                self.link.execute.commit()
            except BaseException as failed:
                self.connections.give_up(self.link, failed)
                raise
            self.connections.rest(self.link)
        finally:
            if self.inside is not None:
                GATE.leave(self.inside)


def _prepared(lent: Any, raw: Any) -> PreparedStatements | None:
    """Return the prepared statements of a pooled connection, which keeps them until it is closed."""
    if _PREPARED not in lent.info:
        lent.info[_PREPARED] = prepared_on(raw)
    kept: PreparedStatements | None = lent.info[_PREPARED]
    return kept


def _discard(link: Link) -> None:
    with contextlib.suppress(Exception):  # a broken connection may fail to close
        link.lent.invalidate()


def _is_session(within: Any) -> bool:
    """Return whether this is an ORM Session, which is only possible if the ORM has been imported."""
    orm = sys.modules.get("sqlalchemy.orm")
    return orm is not None and isinstance(within, orm.Session)
