"""Forks: what happens before and after one, so that handles work in both processes.

SQLite keeps one record of a file's locks per process. A child inherits this record but not the locks: if a connection
to the file stays open across the fork, the child believes that it holds its parent's locks, and the parent may delete
the write-ahead log together with everything that the child has written. And whatever another thread does in SQLite at
that moment stays half done in the child. So the forking thread closes the gate, waits until no thread is inside SQLite,
and closes idle connections; if a file is still open after that, the child may not use it.

Connections to servers have no such record: the child only leaves the inherited ones alone.
"""

from __future__ import annotations

import asyncio
import logging
import os
import stat
import threading
import time
import weakref
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any, Final, Protocol
from urllib.parse import unquote

from duerow.errors import ConfigurationError
from duerow.stores.sql.connections.handler_transactions import INSIDE

_LOG: Final = logging.getLogger("duerow")

PATIENCE: Final = 5.0
"""Seconds for which a fork waits for calls that run in other threads."""

_SOON: Final = 0.001
"""Seconds between two checks whether the fork, or the calls that it waits for, are over."""

_abandoned: list[Any] = []
"""Objects of the parent process, referenced so that the child does not close them."""


class Forkable(Protocol):
    """An object that has connections."""

    def before_fork(self) -> None:
        """Close idle connections that may not be open across a fork; nobody is inside the gate."""

    def after_fork(self) -> None:
        """In the child: start again, without the parent's connections."""


class Gate:
    """A gate that threads and tasks pass before they call SQLite; closed while the process forks."""

    def __init__(self) -> None:
        self.begin_anew()

    def begin_anew(self) -> None:
        """In a child: nobody is inside."""
        self._inside: list[int] = []  # the threads; appending and removing need no lock
        self._turn = threading.RLock()  # held while a process forks
        self._forking = 0
        self._forks: int | None = None

    def enter(self) -> int:
        """Go in, after any fork in progress; return the argument for `leave`.

        A thread first registers and then checks the gate; a fork does it the other way round.
        """
        me = threading.get_ident()
        self._inside.append(me)
        while self._forking and not self._may_pass(me):
            self._inside.remove(me)
            with self._turn:
                pass
            self._inside.append(me)
        return me

    async def aenter(self) -> int:
        """Like `enter`, awaited."""
        while (me := self.enter_now()) is None:  # noqa: ASYNC110 - forks are rare, and know nothing of loops
            await asyncio.sleep(_SOON)
        return me

    def enter_now(self) -> int | None:
        """Like `enter`, but return None instead of waiting."""
        me = threading.get_ident()
        self._inside.append(me)
        if self._forking and not self._may_pass(me):
            self._inside.remove(me)
            return None
        return me

    def leave(self, who: int) -> None:
        """Go out again."""
        try:
            self._inside.remove(who)
        except ValueError:  # in a child, what its parent had begun
            return

    def _may_pass(self, me: int) -> bool:
        # A fork waits for a handler's transaction, so that must not wait for the fork. Nor must the fork for itself.
        return INSIDE.get() is not None or self._forks == me

    @contextmanager
    def inside(self) -> Iterator[None]:
        """Be inside for a block."""
        me = self.enter()
        try:
            yield
        finally:
            self.leave(me)

    @asynccontextmanager
    async def ainside(self) -> AsyncIterator[None]:
        """Like `inside`, awaited."""
        me = await self.aenter()
        try:
            yield
        finally:
            self.leave(me)

    def close(self) -> bool:
        """Let nobody in until `open`; return whether everybody has left.

        Calls of the forking thread itself, or of tasks on its event loop, cannot end in the meantime.
        """
        me = threading.get_ident()
        self._turn.acquire()
        self._forks, self._forking = me, self._forking + 1
        deadline = time.monotonic() + PATIENCE
        while self._inside and me not in self._inside and time.monotonic() < deadline:
            time.sleep(_SOON)
        return not self._inside

    def open(self) -> None:
        """In the parent: the fork is over."""
        self._forking -= 1
        if not self._forking:
            self._forks = None
        self._turn.release()


GATE: Final = Gate()
"""One per process, like SQLite's record of locks."""

_known: dict[int, weakref.ref[Forkable]] = {}
_inherited: set[tuple[int, int]] = set()
"""The files that were open when this process was forked, by device and number."""


def prepare_for_forks(forkable: Forkable) -> None:
    """Call these methods around each fork, as long as the object lives."""
    key = id(forkable)
    _known[key] = weakref.ref(forkable, lambda _: _known.pop(key, None))


def abandon(inherited: Any) -> None:
    """Keep a reference to an object of the parent process, so that this child does not close it."""
    _abandoned.append(inherited)


def check_not_inherited(database: str | None) -> None:
    """Raise ConfigurationError if an SQLite file cannot be used in this process, since it was open at the fork.

    Closing it here would not help: SQLite's record of its locks may remain.
    """
    if not _inherited or database is None:
        return
    path = unquote(database.removeprefix("file:").partition("?")[0]) if database.startswith("file:") else database
    try:
        file = _identity(os.stat(path))
    except OSError:  # there is none yet
        return
    if file in _inherited:
        raise ConfigurationError(
            f"the SQLite file {path} was open while this process was forked, so what is written here could be lost: a "
            "call was running, or something other than duerow's own engines had it open. Close it before the fork "
            "(an engine of your own: dispose()), or start the process with the method 'spawn' or 'forkserver'"
        )


def _before() -> None:
    if GATE.close():
        for forkable in _all_known():
            try:
                forkable.before_fork()
            except Exception:  # the fork cannot be stopped; the child will find the file open, and say so
                _LOG.exception("a connection could not be closed before the process forks")


def _in_child() -> None:
    GATE.begin_anew()
    _note_open_files()
    for forkable in _all_known():
        forkable.after_fork()


def _all_known() -> list[Forkable]:
    found = [reference() for reference in list(_known.values())]
    return [forkable for forkable in found if forkable is not None]


def _note_open_files() -> None:
    descriptors = map(int, os.listdir("/dev/fd")) if os.path.isdir("/dev/fd") else range(1024)
    for descriptor in descriptors:
        try:
            status = os.fstat(descriptor)
        except OSError:  # the one that listed them
            continue
        if stat.S_ISREG(status.st_mode):
            _inherited.add(_identity(status))


def _identity(status: os.stat_result) -> tuple[int, int]:
    return status.st_dev, status.st_ino


if hasattr(os, "register_at_fork"):  # elsewhere nothing forks
    os.register_at_fork(before=_before, after_in_parent=GATE.open, after_in_child=_in_child)
