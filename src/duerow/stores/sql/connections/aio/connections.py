"""The connections of an async engine, and the caller's own transaction."""

from __future__ import annotations

import asyncio
import contextlib
import time
import weakref
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from sqlalchemy import event
from sqlalchemy.exc import UnboundExecutionError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, AsyncSession
from sqlalchemy.pool import AsyncAdaptedQueuePool

from duerow.plan import AsyncExecute
from duerow.store import AsyncListener
from duerow.stores.shield import afinish
from duerow.stores.silent_listener import AsyncSilentListener
from duerow.stores.sql.connections.aio.handlers import AwaitedTransaction, Beside
from duerow.stores.sql.connections.aio.in_parts import InPartsThroughSqlalchemy, RawInParts
from duerow.stores.sql.connections.aio.joined import JoinedExecute, check_database
from duerow.stores.sql.connections.aio.prepared import prepared_on
from duerow.stores.sql.connections.aio.raw import Raw
from duerow.stores.sql.connections.aio.through_sqlalchemy import ThroughSqlalchemy
from duerow.stores.sql.connections.callers import caller_of, check_begun, check_open, no_engine, not_ours, session_of
from duerow.stores.sql.connections.compiled import Texts, callers_texts
from duerow.stores.sql.connections.engines import RESTED
from duerow.stores.sql.connections.event_loops import AwaitedLink, EngineOfLoop, HandOfLoop
from duerow.stores.sql.connections.fork import GATE, abandon, check_not_inherited, prepare_for_forks
from duerow.stores.sql.connections.handler_transactions import (
    INSIDE,
    engine_for_handlers,
)
from duerow.stores.sql.connections.identity import Identities
from duerow.stores.sql.connections.listeners import AsyncDataVersionListener, AsyncNotifyListener
from duerow.stores.sql.connections.ownership import Whose
from duerow.stores.sql.errors import explained, is_lost, unconnected, unusable
from duerow.stores.sql.plans.context import Context
from duerow.stores.sql.table_identity import place_of


class AwaitedConnections:
    """Connections of one async engine; see the blocking twin for more.

    Attributes:
        raw_drivers: the drivers, by SQLAlchemy's names, that are called directly, at half the cost.
    """

    raw_drivers: frozenset[str] = frozenset(("psycopg", "psycopg_async", "aiosqlite"))

    def __init__(self, engine: AsyncEngine, context: Context, own: bool, read_timeout: timedelta | None = None) -> None:
        self.engine, self.context, self.own, self.read_timeout = engine, context, own, read_timeout
        self.dialect = context.dialect
        self.place = place_of(engine.sync_engine, context)
        self._engines = EngineOfLoop(engine)
        self._raw = engine.dialect.driver in self.raw_drivers
        self._hands = HandOfLoop()
        self.in_parts = self.dialect.takes_parts
        self.begin_texts()
        self.of_handlers: set[Any] = set()
        self._identities = Identities(context, engine.sync_engine)
        self._for_handlers: weakref.WeakKeyDictionary[Any, AsyncEngine] = weakref.WeakKeyDictionary()
        self.on_sqlite = self.dialect.name == "sqlite"
        # Getting one from the pool costs more than a push. On SQLite, each connection is a thread, and forks close it.
        self._keeps = own and self._raw and not self.on_sqlite
        self._opened: weakref.WeakSet[Any] = weakref.WeakSet()  # on SQLite, with duerow's own engine
        if own and self.on_sqlite:
            note = self._opened.add
            event.listen(engine.sync_engine, "connect", lambda opened, _: note(opened.driver_connection))
        prepare_for_forks(self)

    def begin_texts(self) -> None:
        """Start compiling statements for the store's current dialect."""
        self._texts = Texts(self.dialect, self.engine.dialect, self._raw)
        self._callers_texts: dict[Any, Texts] = {}

    def open(self) -> Opened:
        """Lend a connection; see Connections.open."""
        return Opened(self)

    async def take(self) -> AwaitedLink:
        """Return a connection: a recently used one at hand, or else one from the pool."""
        hand = self._hands.here()
        while hand.idle:
            link = hand.idle.pop()
            if time.monotonic() - link.used < RESTED or await self._answers(link):
                return link
        self._check_usable()
        connection = self._engines.here().connect()
        try:
            await connection.start()
            execute = await self._execute(connection)
            execute.limit = self.read_timeout
        except Exception as error:
            with contextlib.suppress(Exception):  # closing may fail: the connection was not opened
                await connection.close()
            raise (unconnected(self.dialect, error) or error) from error
        return AwaitedLink(connection, execute)

    async def _answers(self, link: AwaitedLink) -> bool:
        """Return whether the server has kept open a connection that has been idle; if not, discard it."""
        try:
            await link.execute.answer()
        except BaseException as error:
            await afinish(self._discard, link)
            if not isinstance(error, Exception):
                raise
            return False
        return True

    async def rest(self, link: AwaitedLink) -> None:
        """Take back a connection, without awaiting if possible: a cancellation there would lose the answer."""
        if self._keeps and self._hands.here().keep(link):
            if link.execute.prepared is None:
                link.execute.prepared = prepared_on(link.execute.raw)
            return
        pool = link.lent.sync_engine.pool
        if self.own and isinstance(pool, AsyncAdaptedQueuePool) and pool.checkedin() < pool.size():
            await link.lent.close()
        else:  # this closes the connection, or a user's engine resets it
            await afinish(link.lent.close)

    async def give_up(self, link: AwaitedLink, error: BaseException) -> None:
        """Roll back; a connection that is broken or was interrupted during a step is not lent again."""
        if is_lost(error) or not isinstance(error, Exception) or not await link.execute.rolled_back():
            await self._discard(link)
            if self.own and is_lost(error):
                with contextlib.suppress(Exception):  # the others may be broken as well
                    await self._close_at_rest()
        else:
            with contextlib.suppress(Exception):  # a discarded connection may fail to close
                await self.rest(link)

    async def _discard(self, link: AwaitedLink) -> None:
        with contextlib.suppress(Exception):  # a broken connection may fail to close
            if self._hands.here().forget(link):
                await link.execute.close()  # SQLAlchemy closes no async connection that has left its pool
            else:
                await link.lent.invalidate()
                await link.lent.close()

    async def _close_at_rest(self) -> None:
        """Close this loop's idle connections; those of a user's engine stay open."""
        hand = self._hands.here()
        while hand.idle:
            await self._discard(hand.idle.pop())
        await self._engines.close(self.own)

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
        """Raise ConfigurationError if the caller's connection writes to tables other than the queue's."""
        await check_database(self._identities, execute, raw, info, self.open)

    def _raw_joined(self, raw: Any, texts: Texts) -> Raw:
        return self.steps_in_parts(raw, texts, "joined") if self.in_parts else Raw(raw, self.dialect, texts)

    def callers_texts(self, connection: AsyncConnection) -> Texts:
        """Return the texts for the caller's SQLAlchemy driver."""
        # Connections of another handle's own engine take values that those of a user's engine do not.
        key = (connection.dialect.driver, self.dialect.spelling(connection.dialect))
        if key not in self._callers_texts:
            self._callers_texts[key] = Texts(self.dialect, connection.dialect, raw=False, lenient=True)
        return self._callers_texts[key]

    # Overridden by families whose drivers differ.

    def detect_server(self, raw: Any) -> None:
        """Detect the kind of server from a driver's connection, if a family has several kinds."""

    def steps_in_parts(self, raw: Any, texts: Texts, whose: Whose) -> Raw:
        """Return the object that runs steps on a driver's connection if some steps take several statements."""
        return RawInParts(raw, self.dialect, texts, whose)

    def steps_through(self, connection: AsyncConnection, texts: Texts, alone: bool = False) -> ThroughSqlalchemy:
        """Return the object that runs steps on an SQLAlchemy connection, which may be in autocommit mode."""
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
        """Return the running loop's engine for handlers' transactions."""
        loop = asyncio.get_running_loop()
        if loop not in self._for_handlers:
            self._for_handlers[loop] = AsyncEngine(engine_for_handlers(self._engines.here().sync_engine))
        return self._for_handlers[loop]

    async def execute_of(self, connection: AsyncConnection) -> Raw | ThroughSqlalchemy:
        """Return the object that runs steps on an SQLAlchemy connection, or on the driver's if it is duerow's own."""
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
        """Listen for pushes; see Connections.listen."""
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
            connection = lent.driver_connection  # not available on a detached connection
            lent.detach()
        except Exception as error:
            raise (explained(self.dialect, error) or error) from error
        listener = AsyncNotifyListener(connection, self.context.statements.context.channel, queues)
        await listener.start()
        return listener

    async def close(self) -> None:
        """Close this loop's idle connections; those of a user's engine stay open."""
        async with GATE.ainside():
            await self._close_at_rest()

    def before_fork(self) -> None:
        """See Forkable.before_fork. Closing needs no event loop, because each connection's thread is idle."""
        if not self._opened:
            return
        self._engines.forget(self.own)
        for connection in list(self._opened):
            _close_at_rest(connection)
        self._opened.clear()

    def after_fork(self) -> None:
        """See Forkable.after_fork."""
        abandon((self._engines.forget(self.own), self._hands.forget()))
        self._engines = EngineOfLoop(self.engine)
        self.context.floors.begin_anew()


def _close_at_rest(connection: Any) -> None:
    """Close an aiosqlite connection immediately, and let its thread end."""
    if connection._connection is None:
        return
    connection._connection.close()
    connection._connection = None
    if hasattr(connection, "stop"):  # before aiosqlite 0.22, its daemon thread waits until the process ends
        connection._tx.put_nowait((None, connection.stop))  # in the thread itself, which has no loop to notify


class Opened:
    """A connection for a block: committed when the block ends, or rolled back on an exception."""

    __slots__ = ("connections", "inside", "link")

    def __init__(self, connections: AwaitedConnections) -> None:
        self.connections = connections

    async def __aenter__(self) -> AsyncExecute:
        self.inside = await GATE.aenter() if self.connections.on_sqlite else None
        try:
            self.link = await self.connections.take()
        except BaseException:
            if self.inside is not None:
                GATE.leave(self.inside)
            raise
        return self.link.execute if INSIDE.get() is not self.connections else Beside(self.link.execute)

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        try:
            if error is not None:
                await afinish(self.connections.give_up, self.link, error)
                return
            try:
                await self.link.execute.commit()
            except BaseException as failed:
                await afinish(self.connections.give_up, self.link, failed)
                raise
            await self.connections.rest(self.link)
        finally:
            if self.inside is not None:
                GATE.leave(self.inside)


class JoinedRaw(JoinedExecute):
    """The caller's transaction on a driver's connection; its database is checked before the first step."""

    def __init__(self, connections: AwaitedConnections, raw: Raw) -> None:
        super().__init__(raw, connections.context)
        self.connections, self.raw, self.checked = connections, raw, False

    async def __call__(self, step: Any) -> Any:
        """Execute one step."""
        if not self.checked:
            await self.connections.check_database(self.raw, self.raw.raw)
            self.checked = True
        return await super().__call__(step)


class JoinedSqlalchemy:
    """The caller's SQLAlchemy connection or session, checked at the first step: a session must be awaited for it."""

    def __init__(self, connections: AwaitedConnections, within: AsyncConnection | AsyncSession) -> None:
        self.connections, self.within = connections, within
        self.execute: JoinedExecute | None = None

    async def __call__(self, step: Any) -> Any:
        """Execute one step."""
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
        return JoinedExecute(await connections.execute_of(connection), connections.context)
