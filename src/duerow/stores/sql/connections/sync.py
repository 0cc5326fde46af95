"""The blocking way to an SQL database: an engine's connections, or the caller's own transaction."""

from __future__ import annotations

import contextlib
import sqlite3
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from functools import cached_property
from typing import Any, Final, Literal

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import UnboundExecutionError

from duerow.errors import Conflict
from duerow.plan import BEGIN, Execute, run
from duerow.store import ArrowScan, Listener, Scan, TransactionState
from duerow.stores.sql.adbc import adbc_scan
from duerow.stores.sql.connections.callers import (
    caller_of,
    check_begun,
    check_open,
    driver_of,
    no_engine,
    not_ours,
    session_of,
    unwrapped,
)
from duerow.stores.sql.connections.compiled import Texts, callers_texts
from duerow.stores.sql.connections.engines import RESTED
from duerow.stores.sql.connections.fork import GATE, abandon, check_not_inherited, prepare_for_forks
from duerow.stores.sql.connections.handler_transactions import (
    INSIDE,
    HandlersTransaction,
    begin_postgresql,
    engine_for_handlers,
    waits_for_itself,
)
from duerow.stores.sql.connections.identity import Identities
from duerow.stores.sql.connections.lenient import is_garbled, read_again, told_text
from duerow.stores.sql.connections.listeners import DataVersionListener, NotifyListener, SilentListener
from duerow.stores.sql.dialects.base import Dialect
from duerow.stores.sql.errors import explained, is_lost, milliseconds, overran, unconnected, unusable
from duerow.stores.sql.place import place_of
from duerow.stores.sql.plans import SqlStore

Whose = Literal["own", "lent", "joined"]
"""A connection of duerow's engine, of the user's, or the caller's own transaction."""

AT_HAND: Final = 4
"""How many connections are kept at hand, besides those that rest in the pool."""


class BlockingConnections:
    """Connections of one engine.

    Args:
        engine: duerow's own, or the user's.
        store: whose plans are carried out.
        own: whether `close` also closes the engine.
        read_timeout: how long a read for people may take, but in the caller's own transaction; None: no limit.
    """

    def __init__(self, engine: Engine, store: SqlStore, own: bool, read_timeout: timedelta | None = None) -> None:
        self.engine, self.store, self.own, self.read_timeout = engine, store, own, read_timeout
        self.dialect = store.dialect
        self.place = place_of(engine, store)
        self.begin_texts()
        self.of_handlers: set[Connection] = set()
        self._identities = Identities(store, engine)
        self.on_sqlite = self.dialect.name == "sqlite"
        self.in_parts = self.dialect.takes_parts
        self._begin_anew()
        prepare_for_forks(self)

    def begin_texts(self) -> None:
        """Have the statements written in the dialect that the store speaks now."""
        self._texts = Texts(self.dialect, self.engine.dialect, raw=True)
        self._callers_texts: dict[str, Texts] = {}

    def _begin_anew(self) -> None:
        # The connection used last is kept at hand: to ask the pool costs a third of a push.
        self._at_hand: deque[Link] = deque()
        # SQLite lets one transaction write at a time. Threads of a process that wait for each other here go on at
        # once; its own way of waiting is to sleep for ever longer.
        self._writing = threading.Lock() if self.dialect.writes_alone else None

    def open(self) -> Opened:
        """Lend a connection; see Connections.open."""
        return Opened(self)

    @property
    def writing(self) -> threading.Lock | None:
        """Held by whoever writes, where one transaction writes at a time."""
        return self._writing

    def take(self) -> Link:
        """Return a connection: one at hand that was used just now, else one from the pool."""
        while self._at_hand:
            try:
                link = self._at_hand.pop()
            except IndexError:  # another thread was faster
                break
            if time.monotonic() - link.used < RESTED:
                return link
            link.lent.info["used"] = link.used
            link.lent.close()  # back to the pool, which tries it out before it lends it again
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
        return Link(lent, steps)

    def rest(self, link: Link) -> None:
        """Take a connection back whose work is done."""
        if self.own and len(self._at_hand) < AT_HAND:
            link.used = time.monotonic()
            self._at_hand.append(link)
        else:
            link.lent.close()

    def give_up(self, link: Link, error: BaseException) -> None:
        """Roll back; a connection that is broken is not lent again, nor are those that rest beside it."""
        undone = link.execute.rolled_back()
        broken = is_lost(error) or not undone
        with contextlib.suppress(Exception):  # what is thrown away need not close well
            if broken:
                link.lent.invalidate()
                self._close_at_rest()
            else:
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
        driver = caller_of(raw, self.dialect.callers, awaited=False)
        if driver is None:
            raise not_ours(within, self.dialect.callers, self.dialect.name, "blocking")
        check_open(raw, self.dialect.callers[driver])
        self.detect_server(raw)
        if driver not in self._callers_texts:
            self._callers_texts[driver] = callers_texts(self.dialect, driver)
        joined = self._raw_joined(raw, self._callers_texts[driver])
        self._check_database(joined, raw)
        return JoinedExecute(joined, self.store)

    def _check_database(self, execute: Execute, raw: Any, info: Any = None) -> None:
        """Raise ConfigurationError if the caller's connection writes to other tables than the queue's."""
        known = self._identities
        if known.is_known(raw, info):
            return
        if not known.agree(theirs := run(known.ask(), execute)):
            with self.open() as own:
                run(known.look(), own)
            if not known.agree(theirs):
                raise known.another(theirs)
        known.note(raw, info)

    def _raw_joined(self, raw: Any, texts: Texts) -> Raw:
        return self.steps_in_parts(raw, texts, "joined") if self.in_parts else Raw(raw, self.dialect, texts)

    def _join_sqlalchemy(self, connection: Connection) -> Execute:
        if connection in self.of_handlers:  # begun by us, so that its driver can be asked itself, at half the price
            raw = self._raw_joined(connection.connection.driver_connection, self._texts)
            raw.begun = True
            return JoinedExecute(raw, self.store)
        if connection.dialect.name not in self.dialect.names:
            raise not_ours(connection, self.dialect.callers, self.dialect.name, "blocking")
        check_begun(connection.connection, self.dialect.callers)
        self.detect_server(connection.connection.driver_connection)
        key = f"sqlalchemy+{connection.dialect.driver}"
        if key not in self._callers_texts:
            self._callers_texts[key] = Texts(self.dialect, connection.dialect, raw=False, lenient=True)
        joined = self.steps_through(connection, self._callers_texts[key])
        if not self._identities.is_ours(connection.engine.pool):
            self._check_database(joined, connection.connection.driver_connection, connection.info)
        return JoinedExecute(joined, self.store)

    # What a family whose drivers differ overrides.

    def detect_server(self, raw: Any) -> None:
        """Learn from a driver's connection which server it is, where one family has several that differ."""

    def steps_in_parts(self, raw: Any, texts: Texts, whose: Whose) -> Raw:
        """Return what hands steps to a driver's connection where some take several statements."""
        return RawInParts(raw, self.dialect, texts, whose)

    def steps_through(self, connection: Connection, texts: Texts) -> ThroughSqlalchemy:
        """Return what hands steps to an SQLAlchemy connection."""
        through = InPartsThroughSqlalchemy if self.in_parts else ThroughSqlalchemy
        return through(connection, self.dialect, texts)

    def begin(self) -> BlockingTransaction:
        """Begin a transaction for a handler; see Connections.begin."""
        return BlockingTransaction(self)

    @cached_property
    def engine_for_handlers(self) -> Engine:
        """The engine on which handlers' transactions are begun."""
        return engine_for_handlers(self.engine)

    def arrow_scan(self, query: Scan, shown: Sequence[str]) -> ArrowScan | None:
        """Return a scan that gives Arrow; see ArrowConnections."""
        way = self.dialect.arrow(self.engine.url) if self.own else None
        return None if way is None else adbc_scan(self.store, way, query, shown)

    def listen(self, queues: Sequence[str]) -> Listener:
        """Hear of pushes; see Connections.listen."""
        if self.on_sqlite:
            with GATE.inside():
                return DataVersionListener(self._detached)
        if self.engine.dialect.driver == "psycopg":
            return NotifyListener(self._detached(), self.store.statements.channel, queues)
        return SilentListener()

    def _detached(self) -> Any:
        """Return a connection that leaves the pool for good."""
        self.check_usable()
        try:
            lent = self.engine.raw_connection()
            driver_connection = lent.driver_connection  # a detached connection no longer tells
            lent.detach()
        except Exception as error:
            raise (explained(self.dialect, error) or error) from error
        return driver_connection

    def close(self) -> None:
        """Close the connections at rest, if the engine is duerow's own."""
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
        """Raise ConfigurationError if this process was forked in a way that leaves nothing to work with."""
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
        self.store.floors.begin_anew()
        if self.own:
            abandon(self.engine.pool)
            self.engine.dispose(close=False)


class Link:
    """A connection of the pool, and what hands steps to it."""

    __slots__ = ("execute", "lent", "used")

    def __init__(self, lent: Any, execute: Raw) -> None:
        self.lent, self.execute = lent, execute
        self.used = 0.0


class Opened:
    """A connection for the length of a block: committed at its end, rolled back on an exception."""

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


class BlockingTransaction:
    """A transaction that a handler writes in; see OwnTransaction."""

    def __init__(self, connections: BlockingConnections) -> None:
        self._of_handlers = connections.of_handlers
        self._inside = GATE.enter() if connections.on_sqlite else None
        self._writing = connections.writing
        if self._writing is not None:
            self._writing.acquire()
        try:
            connections.check_usable()
            try:
                self.connection = connections.engine_for_handlers.connect()
            except Exception as error:
                raise (explained(connections.dialect, error) or error) from error
            self._transaction = HandlersTransaction(self.connection, connections.store, connections.own)
            self._transaction.begin()
            self._of_handlers.add(self.connection)
        except BaseException:
            self._let_others_write()
            raise
        INSIDE.set(self._writing)

    def look(self) -> TransactionState:
        """See OwnTransaction.look."""
        return self._transaction.look()

    def commit(self) -> None:
        """See OwnTransaction.commit."""
        self._of_handlers.discard(self.connection)
        try:
            self._transaction.commit()
        finally:
            self._let_others_write()

    def roll_back(self) -> None:
        """See OwnTransaction.roll_back."""
        if not self._transaction.ended:
            self._of_handlers.discard(self.connection)
            try:
                self._transaction.roll_back()
            finally:
                self._let_others_write()

    def _let_others_write(self) -> None:
        INSIDE.set(None)
        if self._writing is not None:
            self._writing.release()
        if self._inside is not None:
            GATE.leave(self._inside)


class Raw:
    """Hands steps to a driver's connection: nothing stands between, since this is the hot path.

    Args:
        raw: the driver's connection.
        dialect: which database it is.
        texts: the statements as its driver takes them.
        writing: held from the first write of a transaction to its end, where only one may write at a time.

    Attributes:
        limit: how long a read for people may take; None: as long as it takes.
    """

    limit: timedelta | None = None

    def __init__(self, raw: Any, dialect: Dialect, texts: Texts, writing: threading.Lock | None = None) -> None:
        self.raw, self.dialect, self.texts, self.writing = raw, dialect, texts, writing
        self.begun = self._by_hand = self._holds = False
        self._cursor = self.cursor_of(raw)
        self._ends_all = driver_of(raw, dialect.callers) == "psycopg"
        self._other_text = isinstance(raw, sqlite3.Connection) and raw.text_factory is not str

    def __call__(self, step: Any) -> Any:
        """Carry out one step; BEGIN opens a transaction unless the driver does so by itself."""
        if self.writing is not None and not self._holds and (step is BEGIN or step.statement.writes):
            if INSIDE.get() is self.writing:
                raise waits_for_itself()
            self._holds = self.writing.acquire()
        try:
            if step is BEGIN:
                return self._begin()
            text, values = self.texts.of(step)
            if self._other_text or self.texts.lenient:
                with _read_by(self.raw, told_text if self.texts.lenient else str):
                    return self._read(step, text, values)
            return self._read(step, text, values)
        except Exception as error:
            if not self.texts.lenient and is_garbled(error):
                self.texts.lenient = True
                self._cursor.close()  # which ends its statement
                self._cursor = self.cursor_of(self.raw)
                raise Conflict("SQLite holds text that is not UTF-8; it is read once more, whatever it is") from error
            # What broke off inside a transaction has not been committed; a single step may have been.
            known = overran(self.dialect, self.limit, step, error)
            known = known or explained(self.dialect, error, unsure=not self.begun, in_line=True)
            if known is None or known is error:
                raise
            raise known from error

    def cursor_of(self, raw: Any) -> Any:
        """Return a cursor that gives plain tuples, whatever the connection's own cursors and row factory are."""
        driver = driver_of(raw, self.dialect.callers)
        if driver == "psycopg":
            import psycopg

            cursor: Any = psycopg.Cursor(raw, row_factory=psycopg.rows.tuple_row)
            cursor.format = psycopg.pq.Format.BINARY
            return cursor
        if driver == "psycopg2":
            from psycopg2.extensions import cursor as plain_cursor

            return raw.cursor(cursor_factory=plain_cursor)
        cursor = raw.cursor()
        if isinstance(raw, sqlite3.Connection):
            cursor.row_factory = None
        return cursor

    def _read(self, step: Any, text: str, values: Any) -> list[Any]:
        """Carry a statement out, with a limit if it is a read for people."""
        if self.limit is None or not step.statement.bounded:
            return self._rows(step, text, values)
        most = milliseconds(self.limit)
        before, text, after = self.dialect.limited(text, most)
        with self.dialect.timed(self.raw, most):
            if not before:
                return self._rows(step, text, values)
            if self._ends_all and takes_pipelines():
                return self._rows_in_one_go(before, text, values, after)
            self._begin()
            self._cursor.execute(before)
            rows = self._rows(step, text, values)
            self._cursor.execute(after)
            return rows

    def _rows_in_one_go(self, before: str, text: str, values: Any, after: str) -> list[Any]:
        """Send psycopg's server all three at once: one wait, and one transaction unless one is open already."""
        beside, failed = self.cursor_of(self.raw), None
        try:
            with self.raw.pipeline():
                try:
                    beside.execute(before)
                    self._cursor.execute(text, values)
                    beside.execute(after)
                except Exception as error:  # which psycopg would raise again at the end, and so log
                    failed = error
        except Exception as error:
            raise failed or error from None
        if failed is not None:
            raise failed
        return self._fetched()

    def _rows(self, step: Any, text: str, values: Any) -> list[Any]:
        self._cursor.execute(text, values)
        return self._fetched() if step.statement.returns else []

    def _fetched(self) -> list[Any]:
        try:
            return self._cursor.fetchall()  # type: ignore[no-any-return]
        except Exception as error:
            return read_again(self._cursor, error)

    def _begin(self) -> None:
        if self.begun:  # a plan that is part of another one
            return
        self.begun = True
        if isinstance(self.raw, sqlite3.Connection):
            if not self.raw.in_transaction:
                self._cursor.execute("BEGIN IMMEDIATE")
                self._by_hand = True
        elif self.raw.autocommit:
            self._cursor.execute(begin_postgresql(self.raw))
            self._by_hand = not self._ends_all

    def commit(self) -> None:
        """Make it last, if a transaction is open."""
        try:
            if self._by_hand:  # in autocommit mode a driver's own commit() may do nothing
                self._cursor.execute("COMMIT")
            elif self._open():
                self.raw.commit()
            self._ended()
        except Exception as error:
            raise (explained(self.dialect, error, unsure=True) or error) from error

    def rolled_back(self) -> bool:
        """Undo what is open; return whether that worked and the connection is still there."""
        try:
            if self._open():
                if self._by_hand:
                    self._cursor.execute("ROLLBACK")
                else:
                    self.raw.rollback()
        except Exception:  # it broke just now: the server rolls back, and the caller throws the connection away
            return False
        finally:
            self._ended()
        return not getattr(self.raw, "closed", False)

    def _open(self) -> bool:
        if isinstance(self.raw, sqlite3.Connection):  # its autocommit attribute, if any, has more than two values
            return self.raw.in_transaction
        return self.begun or not self.raw.autocommit

    def _ended(self) -> None:
        self.begun = self._by_hand = False
        if self._holds and self.writing is not None:
            self._holds = False
            self.writing.release()


class RawInParts(Raw):
    """Hands steps to a driver's connection, some as several statements in a transaction.

    Args:
        raw: the driver's connection.
        dialect: which database it is.
        texts: the statements as its driver takes them.
        whose: "own" for duerow's engine, "lent" for the user's, "joined" for the caller's own transaction.
    """

    def __init__(self, raw: Any, dialect: Dialect, texts: Texts, whose: Whose) -> None:
        super().__init__(raw, dialect, texts)
        self.whose = whose

    def __call__(self, step: Any) -> Any:
        """Carry out one step, all of its parts."""
        if step is BEGIN or step.statement.parts is None:
            return super().__call__(step)
        if not step.statement.element.alone:
            super().__call__(BEGIN)
        return run(step.statement.parts(step.values), super().__call__)


class ThroughSqlalchemy:
    """Hands steps to the caller's SQLAlchemy connection, so that it knows of them."""

    def __init__(self, connection: Connection, dialect: Dialect, texts: Texts) -> None:
        self.raw = connection.connection.driver_connection
        self.connection, self.dialect, self.texts = connection, dialect, texts

    def __call__(self, step: Any) -> Any:
        """Carry out one step."""
        text, values = self.texts.of(step)
        try:
            with _read_by(self.raw, told_text if self.texts.lenient else str):
                result = self.connection.exec_driver_sql(text, values)
                return result.fetchall() if result.returns_rows else []
        except Exception as error:
            raise (explained(self.dialect, error) or error) from error


class InPartsThroughSqlalchemy(ThroughSqlalchemy):
    """As ThroughSqlalchemy, where some steps take several statements."""

    def __call__(self, step: Any) -> Any:
        """Carry out one step, all of its parts."""
        if step.statement.parts is None:
            return super().__call__(step)
        return run(step.statement.parts(step.values), super().__call__)


class JoinedExecute:
    """The caller's transaction: it is neither begun nor ended here."""

    def __init__(self, execute: Raw | ThroughSqlalchemy, store: SqlStore) -> None:
        self.execute, self.hold = execute, store.hold

    def __call__(self, step: Any) -> Any:
        """Carry out one step. SQLite begins to write at BEGIN: a read that turns to writing later could fail."""
        if step is not BEGIN:
            return self.execute(step)
        if self.hold is not None:
            self.execute(self.hold)
        return None


@contextmanager
def _read_by(raw: Any, reads: Callable[[bytes], str]) -> Iterator[None]:
    """Have SQLite's text read so, whatever the caller's connection makes of it."""
    if not isinstance(raw, sqlite3.Connection) or raw.text_factory is reads:
        yield
        return
    factory, raw.text_factory = raw.text_factory, reads
    try:
        yield
    finally:
        raw.text_factory = factory


def takes_pipelines() -> bool:
    """Return whether psycopg's libpq is new enough to send several statements at once."""
    import psycopg

    return psycopg.Pipeline.is_supported()


def _is_session(within: Any) -> bool:
    """Return whether it is a Session of the ORM: it can only be one if somebody has imported that."""
    orm = sys.modules.get("sqlalchemy.orm")
    return orm is not None and isinstance(within, orm.Session)
