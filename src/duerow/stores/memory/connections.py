"""The two ways to a database in memory: steps of its plans carried out one at a time, all or nothing."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from datetime import UTC, timedelta
from time import monotonic
from typing import Any, Final, NoReturn

from duerow.clock import Clock
from duerow.errors import Conflict, NotSupported
from duerow.plan import AsyncExecute, Execute, Transaction
from duerow.stores.memory.listeners import AsyncMemoryListener, Audience, MemoryListener
from duerow.stores.memory.state import State
from duerow.stores.memory.steps import Step

PATIENCE: Final = 5.0
"""Seconds to wait for another transaction to end; then it is a Conflict, so that a deadlock does not last."""

_GLANCE = 0.001


class Memory:
    """One database in memory: its state, whoever may change it now, and who hears of it."""

    def __init__(self) -> None:
        self.state = State()
        self.turn = threading.Lock()
        self.audience = Audience()


class Session:
    """One lent connection: each step by itself, or all of them together once BEGIN has been said."""

    def __init__(self, memory: Memory, clock: Clock, transactions: bool, read_timeout: timedelta | None = None) -> None:
        self._memory, self._clock, self._transactions = memory, clock, transactions
        self._read_timeout = read_timeout
        self._begun = False

    def execute(self, step: Step | Transaction) -> Any:
        """Carry out a step; wait for another transaction to end."""
        if not self._begun and not self._memory.turn.acquire(timeout=PATIENCE):
            _give_up()
        return self._carry_out(step)

    async def aexecute(self, step: Step | Transaction) -> Any:
        """Carry out a step; await the end of another transaction, which may be one of this loop's own."""
        patient_until = monotonic() + PATIENCE
        while not self._begun and not self._memory.turn.acquire(blocking=False):
            if monotonic() > patient_until:
                _give_up()
            await asyncio.sleep(_GLANCE)
        return self._carry_out(step)

    def commit(self) -> None:
        """Keep what the transaction changed."""
        if self._begun:
            self._end()

    def roll_back(self) -> None:
        """Undo what the transaction changed."""
        if self._begun:
            self._memory.state.undo()
            self._end()

    def _carry_out(self, step: Step | Transaction) -> Any:
        """It is this session's turn: make one change, whole or not at all, and keep it unless more will follow."""
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
                "open it without that switch"
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
    """The blocking way."""

    def __init__(self, memory: Memory, clock: Clock, transactions: bool, read_timeout: timedelta | None = None) -> None:
        self._memory, self._clock, self._transactions = memory, clock, transactions
        self._read_timeout = read_timeout

    @property
    def place(self) -> Memory:
        """Return what is shared by all who opened the same database in memory."""
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
        """Refuse: there is no transaction of the caller's that this store could be part of."""
        _refuse_to_join(within)

    def begin(self) -> NoReturn:
        """Refuse: there is no connection on which a handler could write."""
        _refuse_to_begin()

    def listen(self, queues: Sequence[str]) -> MemoryListener:
        """Begin to hear of pushes into these queues."""
        return MemoryListener(self._memory.audience, queues)

    def close(self) -> None:
        """Close nothing: no connection is kept."""


class AsyncMemoryConnections:
    """The awaited way; a step is carried out on the loop, which takes some microseconds for each message."""

    def __init__(self, memory: Memory, clock: Clock, transactions: bool, read_timeout: timedelta | None = None) -> None:
        self._memory, self._clock, self._transactions = memory, clock, transactions
        self._read_timeout = read_timeout

    @property
    def place(self) -> Memory:
        """Return what is shared by all who opened the same database in memory."""
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
        """Refuse: there is no transaction of the caller's that this store could be part of."""
        _refuse_to_join(within)

    async def begin(self) -> NoReturn:
        """Refuse: there is no connection on which a handler could write."""
        _refuse_to_begin()

    async def listen(self, queues: Sequence[str]) -> AsyncMemoryListener:
        """Begin to hear of pushes into these queues."""
        return AsyncMemoryListener(self._memory.audience, queues)

    async def close(self) -> None:
        """Close nothing: no connection is kept."""


def _give_up() -> NoReturn:
    raise Conflict(f"another transaction on this in-memory store has been open for {PATIENCE:g} seconds; end it first")


def _refuse_to_join(within: Any) -> NoReturn:
    raise NotSupported(
        f"within={within!r:.80}: the in-memory store keeps no messages in a database of yours, so it cannot join a "
        "transaction there; use the store of that database, such as sqlite:// or postgresql://"
    )


def _refuse_to_begin() -> NoReturn:
    raise NotSupported(
        "the in-memory store keeps no messages in a database of yours, so no handler can write in the transaction that "
        "settles them; use the store of that database, such as sqlite:// or postgresql://"
    )
