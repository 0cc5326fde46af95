"""Blocking and async connections to an in-memory database, which runs one atomic step at a time."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from datetime import UTC, timedelta
from time import monotonic
from typing import Any, Final, NoReturn

from duerow.clock import Clock
from duerow.errors import Conflict, NotSupported, shown
from duerow.plan import AsyncExecute, Execute, Transaction
from duerow.stores.memory.listeners import AsyncMemoryListener, Audience, MemoryListener
from duerow.stores.memory.state import State
from duerow.stores.memory.steps import Step

PATIENCE: Final = 5.0
"""Seconds to wait for another transaction; then Conflict is raised, which ends deadlocks."""

_GLANCE = 0.001


class Memory:
    """An in-memory database: its state, its lock and its listeners."""

    def __init__(self) -> None:
        self.state = State()
        self.turn = threading.Lock()
        self.audience = Audience()


class Session:
    """A connection: runs each step separately, or all steps after BEGIN in one transaction."""

    def __init__(self, memory: Memory, clock: Clock, transactions: bool, read_timeout: timedelta | None = None) -> None:
        self._memory, self._clock, self._transactions = memory, clock, transactions
        self._read_timeout = read_timeout
        self._begun = False

    def execute(self, step: Step | Transaction) -> Any:
        """Run a step; if another transaction is running, wait until it ends."""
        if not self._begun and not self._memory.turn.acquire(timeout=PATIENCE):
            _give_up()
        return self._carry_out(step)

    async def aexecute(self, step: Step | Transaction) -> Any:
        """Run a step; if another transaction is running, which may be in the same event loop, await its end."""
        patient_until = monotonic() + PATIENCE
        while not self._begun and not self._memory.turn.acquire(blocking=False):
            if monotonic() > patient_until:
                _give_up()
            await asyncio.sleep(_GLANCE)
        return self._carry_out(step)

    def commit(self) -> None:
        """Commit the transaction."""
        if self._begun:
            self._end()

    def roll_back(self) -> None:
        """Roll the transaction back."""
        if self._begun:
            self._memory.state.undo()
            self._end()

    def _carry_out(self, step: Step | Transaction) -> Any:
        """Make one atomic change while this session holds the lock; make it final unless a transaction is open."""
        try:
            if isinstance(step, Transaction):
                return self._begin()
            return self._change(step)
        finally:
            if not self._begun:
                self._end()

    def _begin(self) -> None:
        if not self._transactions:
            raise NotSupported(
                "this in-memory store was opened with transactions=off, so several messages cannot change together; "
                "open it without that option"
            )
        self._begun = True

    def _change(self, step: Step) -> Any:
        state = self._memory.state
        state.read_timeout = self._read_timeout
        mark = state.mark()
        try:
            return step(state, self._clock.now().astimezone(UTC))
        except BaseException:
            state.undo(mark)
            raise

    def _end(self) -> None:
        self._begun = False
        touched = self._memory.state.keep()
        self._memory.turn.release()
        if touched:
            self._memory.audience.tell(touched)


class MemoryConnections:
    """Blocking connections."""

    def __init__(self, memory: Memory, clock: Clock, transactions: bool, read_timeout: timedelta | None = None) -> None:
        self._memory, self._clock, self._transactions = memory, clock, transactions
        self._read_timeout = read_timeout

    @property
    def place(self) -> Memory:
        """Return the identity of the database."""
        return self._memory

    @contextmanager
    def open(self) -> Iterator[Execute]:
        """Lend a session; see `Connections.open`."""
        session = Session(self._memory, self._clock, self._transactions, self._read_timeout)
        try:
            yield session.execute
        except BaseException:
            session.roll_back()
            raise
        session.commit()

    def join(self, within: Any) -> Execute:
        """Raise NotSupported: a caller's transaction cannot include this store."""
        _refuse_to_join(within)

    def begin(self) -> NoReturn:
        """Raise NotSupported: there is no connection through which a handler could write."""
        _refuse_to_begin()

    def listen(self, queues: Sequence[str]) -> MemoryListener:
        """Start listening for pushes to these queues."""
        return MemoryListener(self._memory.audience, queues)

    def close(self) -> None:
        """Do nothing: no connections are kept open."""


class AsyncMemoryConnections:
    """Async connections; steps run on the event loop and take a few microseconds per message."""

    def __init__(self, memory: Memory, clock: Clock, transactions: bool, read_timeout: timedelta | None = None) -> None:
        self._memory, self._clock, self._transactions = memory, clock, transactions
        self._read_timeout = read_timeout

    @property
    def place(self) -> Memory:
        """Return the identity of the database."""
        return self._memory

    @asynccontextmanager
    async def open(self) -> AsyncIterator[AsyncExecute]:
        """Lend a session; see `Connections.open`."""
        session = Session(self._memory, self._clock, self._transactions, self._read_timeout)
        try:
            yield session.aexecute
        except BaseException:
            session.roll_back()
            raise
        session.commit()

    def join(self, within: Any) -> AsyncExecute:
        """Raise NotSupported: a caller's transaction cannot include this store."""
        _refuse_to_join(within)

    async def begin(self) -> NoReturn:
        """Raise NotSupported: there is no connection through which a handler could write."""
        _refuse_to_begin()

    async def listen(self, queues: Sequence[str]) -> AsyncMemoryListener:
        """Start listening for pushes to these queues."""
        return AsyncMemoryListener(self._memory.audience, queues)

    async def close(self) -> None:
        """Do nothing: no connections are kept open."""


def _give_up() -> NoReturn:
    raise Conflict(f"another transaction on this in-memory store has been open for {PATIENCE:g} seconds; end it first")


def _refuse_to_join(within: Any) -> NoReturn:
    raise NotSupported(
        f"within={shown(within)}: the in-memory store keeps no messages in your database, so it cannot join a "
        "transaction there; use the store of that database, such as sqlite:// or postgresql://"
    )


def _refuse_to_begin() -> NoReturn:
    raise NotSupported(
        "the in-memory store keeps no messages in your database, so no handler can write in the transaction that "
        "settles them; use the store of that database, such as sqlite:// or postgresql://"
    )
