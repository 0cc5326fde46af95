"""The awaited way to an SQL database: an async engine's connections, or the caller's own transaction."""

from __future__ import annotations

import asyncio
import contextlib
import weakref
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any, TypeVar

from sqlalchemy import event
from sqlalchemy.exc import UnboundExecutionError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, AsyncSession
from sqlalchemy.pool import AsyncAdaptedQueuePool

from duerow.errors import Conflict
from duerow.plan import BEGIN, AsyncExecute, arun
from duerow.store import AsyncListener, TransactionState
from duerow.stores.sql.connections.callers import caller_of, check_begun, check_open, no_engine, not_ours, session_of
from duerow.stores.sql.connections.compiled import Texts, callers_texts
from duerow.stores.sql.connections.event_loops import EngineOfLoop
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
from duerow.stores.sql.connections.listeners import AsyncDataVersionListener, AsyncNotifyListener, AsyncSilentListener
from duerow.stores.sql.connections.sync import Whose, takes_pipelines
from duerow.stores.sql.dialects.base import Dialect
from duerow.stores.sql.errors import explained, is_lost, milliseconds, overran, unconnected, unusable
from duerow.stores.sql.place import place_of
from duerow.stores.sql.plans import SqlStore

T = TypeVar("T")


class AwaitedConnections:
    """Connections of one async engine; as `blocking.BlockingConnections`.

    Attributes:
        raw_drivers: SQLAlchemy's names of the drivers that are handed statements themselves, at half the price.
    """

    raw_drivers: frozenset[str] = frozenset(("psycopg", "psycopg_async", "aiosqlite"))

    def __init__(self, engine: AsyncEngine, store: SqlStore, own: bool, read_timeout: timedelta | None = None) -> None:
        self.engine, self.store, self.own, self.read_timeout = engine, store, own, read_timeout
        self.dialect = store.dialect
        self.place = place_of(engine.sync_engine, store)
        self._engines = EngineOfLoop(engine)
        self._raw = engine.dialect.driver in self.raw_drivers
        self.in_parts = self.dialect.takes_parts
        self.begin_texts()
        self.of_handlers: set[Any] = set()
        self._identities = Identities(store, engine.sync_engine)
        self._for_handlers: weakref.WeakKeyDictionary[Any, AsyncEngine] = weakref.WeakKeyDictionary()
        self.on_sqlite = self.dialect.name == "sqlite"
        self._opened: weakref.WeakSet[Any] = weakref.WeakSet()  # SQLite's, of an engine that is duerow's own
        if own and self.on_sqlite:
            note = self._opened.add
            event.listen(engine.sync_engine, "connect", lambda opened, _: note(opened.driver_connection))
        prepare_for_forks(self)

    def begin_texts(self) -> None:
        """Have the statements written in the dialect that the store speaks now."""
        self._texts = Texts(self.dialect, self.engine.dialect, self._raw)
        self._callers_texts: dict[str, Texts] = {}

    @asynccontextmanager
    async def open(self) -> AsyncIterator[AsyncExecute]:
        """Lend a connection; see Connections.open."""
        inside = await GATE.aenter() if self.on_sqlite else None
        try:
            self._check_usable()
            connection = self._engines.here().connect()
            try:
                await connection.start()
                execute = await self._execute(connection)
                execute.limit = self.read_timeout
            except Exception as error:
                with contextlib.suppress(Exception):  # it was not opened
                    await connection.close()
                raise (unconnected(self.dialect, error) or error) from error
            try:
                yield execute if INSIDE.get() is not self else Beside(execute)
                await execute.commit()
            except BaseException as error:
                await _to_its_end(self._give_up(connection, execute, error))
                raise
            await self._give_back(connection)
        finally:
            if inside is not None:
                GATE.leave(inside)

    def here(self) -> AsyncEngine:
        """Return the engine for the running loop."""
        self._check_usable()
        return self._engines.here()

    def _check_usable(self) -> None:
        if self.on_sqlite:
            check_not_inherited(self.engine.url.database)

    async def _execute(self, connection: AsyncConnection) -> Raw | ThroughSqlalchemy:
        pooled = await connection.get_raw_connection()
        self.detect_server(pooled.driver_connection)
        if not self._raw:
            alone = getattr(pooled.dbapi_connection, "autocommit", False) is True
            return self.steps_through(connection, self._texts, alone)
        if self.in_parts:
            return self.steps_in_parts(pooled.driver_connection, self._texts, "own" if self.own else "lent")
        return Raw(pooled.driver_connection, self.dialect, self._texts)

    async def _give_back(self, connection: AsyncConnection) -> None:
        """Take a connection back whose work is done, in one go if it can be: a cancellation would lose the answer."""
        pool = connection.sync_engine.pool
        if self.own and isinstance(pool, AsyncAdaptedQueuePool) and pool.checkedin() < pool.size():
            await connection.close()
        else:  # it is closed, or a user's engine resets it
            await _to_its_end(connection.close())

    async def _give_up(
        self, connection: AsyncConnection, execute: Raw | ThroughSqlalchemy, error: BaseException
    ) -> None:
        """Roll back; a connection that is broken, or was left in the middle of a step, is not lent again."""
        broken = is_lost(error) or not isinstance(error, Exception) or not await execute.rolled_back()
        with contextlib.suppress(Exception):  # what is thrown away need not close well
            if broken:
                await connection.invalidate()
                if self.own and is_lost(error):
                    await connection.engine.dispose()
        with contextlib.suppress(Exception):
            await connection.close()

    def join(self, within: Any) -> AsyncExecute:
        """Use the caller's transaction; see Connections.join."""
        try:
            return self._join(within)
        except Exception as error:
            raise unusable(self.dialect, error) from error

    def _join(self, within: Any) -> AsyncExecute:
        within = session_of(within)
        if isinstance(within, AsyncSession | AsyncConnection):
            return JoinedSqlalchemy(self, within)
        driver = caller_of(within, self.dialect.callers, awaited=True)
        if driver is None:
            raise not_ours(within, self.dialect.callers, self.dialect.name, "async")
        check_open(within, self.dialect.callers[driver])
        self.detect_server(within)
        if driver not in self._callers_texts:
            self._callers_texts[driver] = callers_texts(self.dialect, driver)
        raw = self._raw_joined(within, self._callers_texts[driver])
        raw.unproven = True
        return JoinedRaw(self, raw)

    async def check_database(self, execute: AsyncExecute, raw: Any, info: Any = None) -> None:
        """Raise ConfigurationError if the caller's connection writes to other tables than the queue's."""
        known = self._identities
        if known.is_known(raw, info):
            return
        if not known.agree(theirs := await arun(known.ask(), execute)):
            async with self.open() as own:
                await arun(known.look(), own)
            if not known.agree(theirs):
                raise known.another(theirs)
        known.note(raw, info)

    def _raw_joined(self, raw: Any, texts: Texts) -> Raw:
        return self.steps_in_parts(raw, texts, "joined") if self.in_parts else Raw(raw, self.dialect, texts)

    def callers_texts(self, connection: AsyncConnection) -> Texts:
        """Return the texts for the caller's SQLAlchemy driver."""
        key = f"sqlalchemy+{connection.dialect.driver}"
        if key not in self._callers_texts:
            self._callers_texts[key] = Texts(self.dialect, connection.dialect, raw=False, lenient=True)
        return self._callers_texts[key]

    # What a family whose drivers differ overrides.

    def detect_server(self, raw: Any) -> None:
        """Learn from a driver's connection which server it is, where one family has several that differ."""

    def steps_in_parts(self, raw: Any, texts: Texts, whose: Whose) -> Raw:
        """Return what hands steps to a driver's connection where some take several statements."""
        return RawInParts(raw, self.dialect, texts, whose)

    def steps_through(self, connection: AsyncConnection, texts: Texts, alone: bool = False) -> ThroughSqlalchemy:
        """Return what hands steps to an SQLAlchemy connection, which may commit each statement by itself."""
        through = InPartsThroughSqlalchemy if self.in_parts else ThroughSqlalchemy
        return through(connection, self.dialect, texts, alone)

    async def begin(self) -> AwaitedTransaction:
        """Begin a transaction for a handler; see Connections.begin."""
        inside = await GATE.aenter() if self.on_sqlite else None
        try:
            self._check_usable()
            own = AwaitedTransaction(self, self._engine_for_handlers().connect(), inside)
            await own.begin()
        except BaseException:
            if inside is not None:
                GATE.leave(inside)
            raise
        return own

    def _engine_for_handlers(self) -> AsyncEngine:
        """Return the running loop's engine on which handlers' transactions are begun."""
        loop = asyncio.get_running_loop()
        if loop not in self._for_handlers:
            self._for_handlers[loop] = AsyncEngine(engine_for_handlers(self._engines.here().sync_engine))
        return self._for_handlers[loop]

    async def execute_of(self, connection: AsyncConnection) -> Raw | ThroughSqlalchemy:
        """Return what hands steps to a connection of SQLAlchemy's; to the driver's own where a handler has ours."""
        pooled = await connection.get_raw_connection()
        if self._raw and connection.sync_connection in self.of_handlers:
            raw = self._raw_joined(pooled.driver_connection, self._texts)
            raw.begun = True
            return raw
        check_begun(pooled, self.dialect.callers)
        self.detect_server(pooled.driver_connection)
        joined = self.steps_through(connection, self.callers_texts(connection))
        if not self._identities.is_ours(connection.sync_engine.pool):
            await self.check_database(joined, pooled.driver_connection, pooled.info)
        return joined

    async def listen(self, queues: Sequence[str]) -> AsyncListener:
        """Hear of pushes; see Connections.listen."""
        if self.dialect.name == "sqlite":
            database = self.engine.url.database
            if database is None:
                return AsyncSilentListener()
            async with GATE.ainside():
                return AsyncDataVersionListener(database)
        if self.engine.dialect.driver not in ("psycopg", "psycopg_async"):
            return AsyncSilentListener()
        try:
            lent = await self._engines.here().raw_connection()
            connection = lent.driver_connection  # a detached connection no longer tells
            lent.detach()
        except Exception as error:
            raise (explained(self.dialect, error) or error) from error
        listener = AsyncNotifyListener(connection, self.store.statements.channel, queues)
        await listener.start()
        return listener

    async def close(self) -> None:
        """Close the connections of this loop that are at rest; a user's engine keeps its own."""
        async with GATE.ainside():
            await self._engines.close(self.own)

    def before_fork(self) -> None:
        """See Forkable.before_fork. No loop is needed to close, since each connection's thread has nothing to do."""
        if not self._opened:
            return
        self._engines.forget(self.own)
        for connection in list(self._opened):
            _close_at_rest(connection)
        self._opened.clear()

    def after_fork(self) -> None:
        """See Forkable.after_fork."""
        abandon(self._engines.forget(self.own))
        self._engines = EngineOfLoop(self.engine)
        self.store.floors.begin_anew()


def _close_at_rest(connection: Any) -> None:
    """Close an aiosqlite connection here and now, and let its thread end."""
    if connection._connection is None:
        return
    connection._connection.close()
    connection._connection = None
    if hasattr(connection, "stop"):  # else, before aiosqlite 0.22, its daemon thread waits to the end of the process
        connection._tx.put_nowait((None, connection.stop))  # in the thread itself, which has no loop to be told


async def _to_its_end(work: Coroutine[Any, Any, None]) -> None:
    """Await work that may not be left in the middle: who is cancelled meanwhile is told when it is over."""
    task = asyncio.ensure_future(work)
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        raise cancelled from (None if task.cancelled() else task.exception())
    task.result()


class Raw:
    """Hands steps to a driver's connection; as `blocking.Raw`.

    Attributes:
        unproven: whether it may still turn out, in its own thread, that the connection commits each statement alone.
        limit: how long a read for people may take; None: as long as it takes.
    """

    limit: timedelta | None = None

    def __init__(self, raw: Any, dialect: Dialect, texts: Texts) -> None:
        self.raw, self.dialect, self.texts = raw, dialect, texts
        self.begun = self._by_hand = self.unproven = False
        self.on_sqlite = dialect.name == "sqlite"

    async def __call__(self, step: Any) -> Any:
        """Carry out one step; BEGIN opens a transaction unless the driver does so by itself."""
        try:
            if step is BEGIN:
                return await self._begin()
            text, values = self.texts.of(step)
            if self.limit is not None and step.statement.bounded:
                return await self._read(text, values, milliseconds(self.limit))
            return await (self._sqlite(text, values) if self.on_sqlite else self._send(text, values))
        except Exception as error:
            if not self.texts.lenient and is_garbled(error):
                self.texts.lenient = True
                raise Conflict("SQLite holds text that is not UTF-8; it is read once more, whatever it is") from error
            known = overran(self.dialect, self.limit, step, error)
            known = known or explained(self.dialect, error, unsure=not self.begun, in_line=True)
            if known is None or known is error:
                raise
            raise known from error

    async def _begin(self) -> None:
        if self.begun:  # a plan that is part of another one
            return
        self.begun = True
        if self.on_sqlite:
            if not self.raw.in_transaction:
                await self._sqlite("BEGIN IMMEDIATE", {})
                self._by_hand = True
        elif self.raw.autocommit:
            await self._send(begin_postgresql(self.raw), None)

    async def _read(self, text: str, values: Any, most: int) -> Any:
        """Carry out a read for people, with its limit in milliseconds."""
        if self.on_sqlite:
            return await self._sqlite(text, values, most)
        before, text, after = self.dialect.limited(text, most)
        if not before:
            return await self._send(text, values)
        if takes_pipelines():
            return await self._send_in_one_go(before, text, values, after)
        await self._begin()
        await self._send(before, None)
        rows = await self._send(text, values)
        await self._send(after, None)
        return rows

    def _cursor(self) -> Any:
        import psycopg

        cursor: Any = psycopg.AsyncCursor(self.raw, row_factory=psycopg.rows.tuple_row)
        cursor.format = psycopg.pq.Format.BINARY
        return cursor

    async def _send_in_one_go(self, before: str, text: str, values: Any, after: str) -> Any:
        """Send psycopg's server all three at once: one wait, and one transaction unless one is open already."""
        cursor, beside, failed = self._cursor(), self._cursor(), None
        try:
            async with self.raw.pipeline():
                try:
                    await beside.execute(before)
                    await cursor.execute(text, values)
                    await beside.execute(after)
                except Exception as error:  # which psycopg would raise again at the end, and so log
                    failed = error
        except Exception as error:
            raise failed or error from None
        if failed is not None:
            raise failed
        return await self._fetched(cursor)

    async def _send(self, text: str, values: Any) -> Any:
        cursor = self._cursor()
        await cursor.execute(text, values)
        return await self._fetched(cursor)

    async def _fetched(self, cursor: Any) -> Any:
        try:
            return await cursor.fetchall() if cursor.description else []
        except Exception as error:
            return read_again(cursor, error)

    async def _sqlite(self, text: str, values: Any, most: int | None = None) -> Any:
        """Execute and fetch in one visit to the connection's thread, which each costs more than the statement.

        Who is cancelled before the thread has come to it leaves nothing behind: COMMIT, too, is not executed then.
        """
        cancelled = False

        def visit() -> list[Any]:
            if cancelled:
                return []
            connection = self.raw._conn
            if self.unproven:  # of whose mode only this thread may ask
                check_open(connection, self.dialect.callers["sqlite3"])
                self.unproven = False
            reads = told_text if self.texts.lenient else str
            factory, connection.text_factory = connection.text_factory, reads
            cursor = connection.cursor()
            try:
                cursor.row_factory = None
                with contextlib.nullcontext() if most is None else self.dialect.timed(connection, most):
                    return cursor.execute(text, values).fetchall()  # type: ignore[no-any-return]
            finally:
                cursor.close()  # which ends its statement, also one of which not all could be read
                connection.text_factory = factory

        try:
            return await self.raw._execute(visit)
        except asyncio.CancelledError:
            cancelled = True
            raise

    async def commit(self) -> None:
        """Make it last, if a transaction is open."""
        try:
            if self._by_hand:  # in autocommit mode sqlite3's own commit() does nothing
                await self._sqlite("COMMIT", {})
            elif self._open():
                await self.raw.commit()
        except Exception as error:
            raise (explained(self.dialect, error, unsure=True) or error) from error

    async def rolled_back(self) -> bool:
        """Undo what is open; return whether that worked and the connection is still there."""
        try:
            if self._open():
                await (self._sqlite("ROLLBACK", {}) if self._by_hand else self.raw.rollback())
        except Exception:  # it broke just now: the server rolls back, and the caller throws the connection away
            return False
        return not getattr(self.raw, "closed", False)

    def _open(self) -> bool:
        return bool(self.raw.in_transaction) if self.on_sqlite else self.begun or not self.raw.autocommit


class RawInParts(Raw):
    """Hands steps to a driver's connection, some as several statements; as `blocking.RawInParts`."""

    def __init__(self, raw: Any, dialect: Dialect, texts: Texts, whose: Whose) -> None:
        super().__init__(raw, dialect, texts)
        self.whose = whose

    async def __call__(self, step: Any) -> Any:
        """Carry out one step, all of its parts."""
        if step is BEGIN or step.statement.parts is None:
            return await super().__call__(step)
        if not step.statement.element.alone:
            await super().__call__(BEGIN)
        return await arun(step.statement.parts(step.values), super().__call__)


class ThroughSqlalchemy:
    """Hands steps to an SQLAlchemy connection: the caller's, or that of an engine whose driver needs it.

    Args:
        connection: the connection.
        dialect: which database it is.
        texts: the statements as its driver takes them.
        alone: whether the connection commits each statement by itself, so that BEGIN must be said.

    Attributes:
        limit: how long a read for people may take; None: as long as it takes.
    """

    limit: timedelta | None = None

    def __init__(self, connection: AsyncConnection, dialect: Dialect, texts: Texts, alone: bool = False) -> None:
        self.connection, self.dialect, self.texts, self.alone = connection, dialect, texts, alone
        self.begun = False

    async def __call__(self, step: Any) -> Any:
        """Carry out one step; SQLAlchemy begins by itself unless the connection commits each statement."""
        try:
            if step is BEGIN:
                return await self._begin()
            text, values = self.texts.of(step)
            if self.limit is not None and step.statement.bounded:
                return await self._read(text, values, milliseconds(self.limit))
            return await self._send(text, values)
        except Exception as error:
            known = overran(self.dialect, self.limit, step, error)
            unsure = self.alone and not self.begun
            raise (known or explained(self.dialect, error, unsure) or error) from error

    async def _read(self, text: str, values: Any, most: int) -> Any:
        """Carry out a read for people, with its limit in milliseconds."""
        before, text, after = self.dialect.limited(text, most)
        with self.dialect.timed(await self._driver(), most):
            if not before:
                return await self._send(text, values)
            await self._begin()
            await self.connection.exec_driver_sql(before)
            rows = await self._send(text, values)
            await self.connection.exec_driver_sql(after)
            return rows

    async def _driver(self) -> Any:
        """Return the driver's own connection."""
        return (await self.connection.get_raw_connection()).driver_connection

    async def _send(self, text: str, values: Any) -> Any:
        result = await self.connection.exec_driver_sql(text, values)
        return result.fetchall() if result.returns_rows else []

    async def _begin(self) -> None:
        if self.alone and not self.begun:
            self.begun = True
            await self.connection.exec_driver_sql("BEGIN")

    async def commit(self) -> None:
        """Make it last."""
        try:
            if self.begun:
                await self.connection.exec_driver_sql("COMMIT")
            await self.connection.commit()
        except Exception as error:
            raise (explained(self.dialect, error, unsure=True) or error) from error

    async def rolled_back(self) -> bool:
        """Undo what is open; return whether that worked."""
        try:
            if self.begun:
                await self.connection.exec_driver_sql("ROLLBACK")
            await self.connection.rollback()
        except Exception:  # it broke just now: the server rolls back, and the caller throws the connection away
            return False
        return True


class InPartsThroughSqlalchemy(ThroughSqlalchemy):
    """As ThroughSqlalchemy, where some steps take several statements."""

    async def __call__(self, step: Any) -> Any:
        """Carry out one step, all of its parts."""
        if step.statement.parts is None:
            return await super().__call__(step)
        return await arun(step.statement.parts(step.values), super().__call__)


class AwaitedTransaction:
    """A transaction that a handler writes in; see OwnTransaction."""

    def __init__(self, connections: AwaitedConnections, connection: AsyncConnection, inside: int | None = None) -> None:
        self.connection, self._connections, self._inside = connection, connections, inside
        self._transaction: HandlersTransaction | None = None

    async def begin(self) -> None:
        """Begin it, on a connection of its own; raises as Connections.begin."""
        connections = self._connections
        try:
            await self.connection.start()
        except Exception as error:
            with contextlib.suppress(Exception):  # it was not opened
                await self.connection.close()
            raise (explained(connections.dialect, error) or error) from error
        sync_connection = self.connection.sync_connection
        assert sync_connection is not None  # noqa: S101 - it was opened
        self._transaction = HandlersTransaction(sync_connection, connections.store, connections.own)
        try:
            await self._do(HandlersTransaction.begin)
        except asyncio.CancelledError:
            await self._do(HandlersTransaction.roll_back)
            raise
        connections.of_handlers.add(sync_connection)
        if connections.dialect.writes_alone:
            INSIDE.set(connections)

    async def look(self) -> TransactionState:
        """See OwnTransaction.look."""
        return await self._do(HandlersTransaction.look)

    async def commit(self) -> None:
        """See OwnTransaction.commit."""
        self._leave()
        try:
            await self._do(HandlersTransaction.commit)
        finally:
            self._pass_out()

    async def roll_back(self) -> None:
        """See OwnTransaction.roll_back."""
        self._leave()
        if self._transaction is not None and not self._transaction.ended:
            try:
                await self._do(HandlersTransaction.roll_back)
            finally:
                self._pass_out()

    async def _do(self, act: Callable[[HandlersTransaction], T]) -> T:
        transaction = self._transaction
        assert transaction is not None  # noqa: S101 - it was opened
        return await self.connection.run_sync(lambda _: act(transaction))

    def _leave(self) -> None:
        self._connections.of_handlers.discard(self.connection.sync_connection)
        if INSIDE.get() is self._connections:
            INSIDE.set(None)

    def _pass_out(self) -> None:
        if self._inside is not None:
            GATE.leave(self._inside)
            self._inside = None


class Beside:
    """A connection beside the one of a handler that lets nobody else write: it may read."""

    def __init__(self, execute: Raw | ThroughSqlalchemy) -> None:
        self.execute = execute

    async def __call__(self, step: Any) -> Any:
        """Carry out one step, if it does not write."""
        if step is BEGIN or step.statement.writes:
            raise waits_for_itself()
        return await self.execute(step)


class JoinedExecute:
    """The caller's transaction: it is neither begun nor ended here."""

    def __init__(self, execute: Raw | ThroughSqlalchemy, store: SqlStore) -> None:
        self.execute, self.hold = execute, store.hold

    async def __call__(self, step: Any) -> Any:
        """Carry out one step. SQLite begins to write at BEGIN: a read that turns to writing later could fail."""
        if step is not BEGIN:
            return await self.execute(step)
        if self.hold is not None:
            await self.execute(self.hold)
        return None


class JoinedRaw(JoinedExecute):
    """The caller's transaction on a driver's connection, which is asked for its database before the first step."""

    def __init__(self, connections: AwaitedConnections, raw: Raw) -> None:
        super().__init__(raw, connections.store)
        self.connections, self.raw, self.checked = connections, raw, False

    async def __call__(self, step: Any) -> Any:
        """Carry out one step."""
        if not self.checked:
            await self.connections.check_database(self.raw, self.raw.raw)
            self.checked = True
        return await super().__call__(step)


class JoinedSqlalchemy:
    """The caller's SQLAlchemy connection or session, looked at when the first step comes: a session must be asked."""

    def __init__(self, connections: AwaitedConnections, within: AsyncConnection | AsyncSession) -> None:
        self.connections, self.within = connections, within
        self.execute: JoinedExecute | None = None

    async def __call__(self, step: Any) -> Any:
        """Carry out one step."""
        if self.execute is None:
            try:
                self.execute = await self._joined()
            except Exception as error:
                raise unusable(self.connections.dialect, error) from error
        return await self.execute(step)

    async def _joined(self) -> JoinedExecute:
        connections, within = self.connections, self.within
        try:
            connection = within if isinstance(within, AsyncConnection) else await within.connection()
        except UnboundExecutionError as error:
            raise no_engine() from error
        if connection.dialect.name not in connections.dialect.names:
            raise not_ours(within, connections.dialect.callers, connections.dialect.name, "async")
        return JoinedExecute(await connections.execute_of(connection), connections.store)
