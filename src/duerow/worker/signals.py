"""The signals that ask a process to stop: which workers they stop, and which handler is restored afterward.

A process has one handler for each signal. So workers that run at the same time share one, and if other code sets a
handler in the meantime, that handler stays.
"""

from __future__ import annotations

import asyncio
import signal
import sys
import threading
from asyncio.base_events import BaseEventLoop
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from types import FrameType
from typing import Any, Final

from duerow.errors import ConfigurationError, shown

SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)

LOOK: Final = 1.0
"""Seconds after which the main thread checks for a signal that came just before its wait, and so did not end it."""

_MAINS: Final = {asyncio.Runner.run.__code__, BaseEventLoop.run_until_complete.__code__}
"""The code that runs a loop until one task has ended."""

_stops: dict[int, list[Callable[[], None]]] = {number: [] for number in SIGNALS}
_before: dict[int, Any] = {}


@contextmanager
def stopped_by(signals: Sequence[int], stop: Callable[[], None]) -> Iterator[None]:
    """Have these signals call `stop` during a block, as well as other blocks' `stop`; in the main thread."""
    taken = [number for number in signals if signal.getsignal(number) is not None]  # None: not set by Python; leave it
    for number in taken:
        handler = signal.signal(number, _ask)
        if handler is not _ask:
            _before[number] = handler
        _stops[number].append(stop)
    try:
        yield
    finally:
        for number in taken:
            _stops[number].remove(stop)
            if not _stops[number] and signal.getsignal(number) is _ask:
                signal.signal(number, _before[number])


@contextmanager
def stopped_in_loop_by(signals: Sequence[int], stop: Callable[[], None]) -> Iterator[None]:
    """Like `stopped_by`, but the running loop calls `stop`: a signal may have interrupted code that holds a lock."""
    loop = asyncio.get_running_loop()
    looking: asyncio.TimerHandle | None = None

    def ask() -> None:
        loop.call_soon_threadsafe(stop)

    def look() -> None:
        nonlocal looking
        looking = loop.call_later(LOOK, look)

    look()
    try:
        with stopped_by(signals, ask):
            yield
    finally:
        if looking is not None:
            looking.cancel()


def signals_of_thread(wanted: bool | None) -> Sequence[int]:
    """Return the signals for a worker that blocks its thread; None means those that reach this thread.

    Raises:
        ConfigurationError: they are wanted, and this is not the main thread.
    """
    return SIGNALS if _may_take(wanted) else ()


def signals_of_task(wanted: bool | None) -> Sequence[int]:
    """Return the signals for an awaited worker.

    Args:
        wanted: None means the signals that nobody handles, provided that this task was given to `asyncio.run`: only
            then does the program end with it.

    Raises:
        ConfigurationError: they are wanted, and this is not the main thread.
    """
    if not _may_take(wanted):
        return ()
    if wanted:
        return SIGNALS
    return [number for number in SIGNALS if _is_free(number)] if _is_main_task() else ()


def _may_take(wanted: bool | None) -> bool:
    if wanted not in (None, True, False):
        raise ConfigurationError(f"signals is True, False or None, not {shown(wanted)}")
    if threading.current_thread() is threading.main_thread():
        return wanted is not False
    if wanted:
        raise ConfigurationError(
            "signals=True: Python delivers signals only to the main thread, and this is another one; leave out "
            "signals=, and call stop() from a signal handler that the main thread sets"
        )
    return False


def _is_main_task() -> bool:
    """Return whether the loop runs for as long as the current task, as with `asyncio.run`."""
    task, frame = asyncio.current_task(), sys._getframe()
    while (outer := frame.f_back) is not None:
        frame = outer
        if frame.f_code in _MAINS and any(value is task for value in frame.f_locals.values()):
            return True
    return False


def _is_free(number: int) -> bool:
    """Return whether a signal is handled only by Python itself or by another worker."""
    handler = signal.getsignal(number)
    if isinstance(handler, partial):  # set by `asyncio.run` for Ctrl-C
        return isinstance(getattr(handler.func, "__self__", None), asyncio.Runner)
    return handler in (signal.SIG_DFL, signal.default_int_handler, _ask)


def _ask(number: int, frame: FrameType | None) -> None:
    stops = tuple(_stops[number])
    for stop in stops:
        stop()
    if not stops:  # other code took the signal meanwhile, and restored our handler after we had left
        signal.signal(number, _before[number])
        signal.raise_signal(number)
