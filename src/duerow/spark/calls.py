"""Calls a station's function in a child of the task's process, and kills the child if a call takes too long.

Nothing else ends every call: a thread cannot be killed, and code that holds the interpreter's lock, such as a regular
expression that backtracks for hours, stops all threads of its process.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from contextlib import contextmanager
from faulthandler import cancel_dump_traceback_later, dump_traceback_later
from typing import TYPE_CHECKING, Any, Final

from duerow.payload.encoding import Cipher
from duerow.spark.pickling import dumps
from duerow.worker.child_process import Child, pickled

if TYPE_CHECKING:
    from duerow.message import Message
    from duerow.pipeline import Station

NAME: Final = "duerow-station"
"""The name of the child processes."""

MOST_STATIONS: Final = 32
"""A child that has loaded more stations than this is replaced, because the stations stay in its memory."""

STDERR: Final = 2

Key = tuple[str, str]
"""A run and the name of a station in it."""


class Calls:
    """Calls functions of stations in a child, one call at a time.

    Each Spark process has one object of this class, and so at most one child, however many stations there are.
    """

    def __init__(self) -> None:
        self._child: Child | None = None
        self._loaded: set[Key] = set()

    def prepare(self, key: Key, station: bytes, sealing: Cipher | None) -> None:
        """Start the child unless it is running, and wait until it has loaded the station.

        A call's time limit starts only after this.

        Args:
            key: identifies the station.
            station: the station, pickled.
            sealing: as for `Station.settlement`.

        Raises:
            ConfigurationError: no child process can be started.
            HandlerDied: the child ended while it loaded the station.
        """
        if self._child is not None and (len(self._loaded) > MOST_STATIONS or not self._child.running):
            self.kill()
        if self._child is None:
            self._child = Child(pickled(Functions()), NAME)
        self._child.ready()
        if key not in self._loaded:
            self._child.call((key, dumps((station, sealing)), None))
            self._loaded.add(key)

    def begin(self, key: Key, message: Message) -> None:
        """Call the function of a station for a message, without waiting for it.

        Raises:
            HandlerDied: the child has ended.
        """
        self._running.send((key, None, _packed(message)))

    def ended(self, seconds: float) -> bool:
        """Wait at most this long; return whether the call, or the child, has ended."""
        return self._running.ended(seconds)

    def result(self) -> Any:
        """Return the station's decision for the message; raise what its function raised, or HandlerDied."""
        return self._running.answer()

    def kill(self) -> None:
        """Kill the process, if there is one, along with any call; the next call starts a new process."""
        if self._child is not None:
            self._child.kill()
        self.close()

    def close(self) -> None:
        """Let the child, if there is one, end; the next call starts a new one."""
        child, self._child = self._child, None
        self._loaded.clear()
        if child is not None:
            child.close()

    @property
    def _running(self) -> Child:
        assert self._child is not None  # noqa: S101 - prepare() comes first
        return self._child


class Functions:
    """The functions that the child calls. It keeps each station that it has loaded."""

    def __init__(self) -> None:
        self._loaded: dict[Key, tuple[Station, Cipher | None]] = {}

    def __call__(self, request: tuple[Key, bytes | None, bytes | None]) -> Any:
        """Load a station, or return a station's decision for a message."""
        key, packed, message = request
        if packed is not None:
            station, sealing = pickle.loads(packed)  # noqa: S301 - from the task, as the function itself
            self._loaded[key] = (pickle.loads(station), sealing)  # noqa: S301
        if message is None:
            return None
        station, sealing = self._loaded[key]
        return station.turn(pickle.loads(message), sealing)  # noqa: S301


def _packed(message: Message) -> bytes:
    """Return a message as bytes, even if the type of its payload is defined in the main program."""
    try:
        return pickle.dumps(message)
    except Exception:  # pickle.PicklingError, AttributeError or TypeError, depending on the version of Python
        return dumps(message)


@contextmanager
def ending_process_after(seconds: float) -> Iterator[None]:
    """End this Spark process if the block takes longer than this, and write its traceback to standard error.

    The watching thread does not need the interpreter's lock, so the block cannot stop it.
    """
    dump_traceback_later(seconds, file=STDERR, exit=True)
    try:
        yield
    finally:
        cancel_dump_traceback_later()
