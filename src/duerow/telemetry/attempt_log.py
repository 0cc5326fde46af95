"""The last log lines of a handler, kept with the error of an attempt that failed, or with every attempt."""

from __future__ import annotations

import inspect
import logging
from collections import deque
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from typing import Any, Final, Literal

from duerow.errors import ConfigurationError, shown
from duerow.worker.attempt import CURRENT, Attempt
from duerow.worker.middleware import EVERYWHERE, CallNext

LINES: Final = 50
LONGEST: Final = 300
"""How many characters of a line are kept."""

_RING: Final[ContextVar[deque[str] | None]] = ContextVar("duerow_attempt_log", default=None)


def keep_attempt_logs(
    *,
    of: Literal["failed", "all"] = "failed",
    lines: int = LINES,
    level: int = logging.INFO,
    logger: str = "",
    format: str = "%(levelname)s %(name)s: %(message)s",
) -> Callable[[], None]:
    """Keep the last log lines of handlers; return a function that stops doing so.

    If an attempt fails, the lines that its handler logged follow the traceback of its error: in the message's
    `last_error`, in the history of its queue, and in the dashboard. With `of="all"` the lines of other attempts are
    kept too, as `log` of their turns, in queues that keep a history. This applies to workers that are created from now
    on, and costs only memory until an attempt fails; with `of="all"`, up to 8,000 more characters in each turn. It does
    not keep the lines of threads that a handler started, or of handlers in child processes. If errors are stored
    encrypted, the log is too.

    Args:
        of: which attempts keep their log: those that fail, or all.
        lines: how many of an attempt's last lines are kept.
        level: the lowest level of a line; the loggers must allow it too.
        logger: the name of the logger whose lines are kept, with its descendants; default: all.
        format: the format of a line, as in `logging.Formatter`.

    Raises:
        ConfigurationError: `lines` is not a positive integer, or `of` is neither "failed" nor "all".
    """
    if of not in ("failed", "all"):
        raise ConfigurationError(f"of= must be 'failed' or 'all', not {shown(of)}; it says which attempts keep logs")
    if type(lines) is not int or lines < 1:
        raise ConfigurationError(f"lines= must be the number of log lines to keep, at least 1, not {shown(lines)}")
    handler = _RingHandler(level)
    handler.setFormatter(logging.Formatter(format))
    source = logging.getLogger(logger)
    source.addHandler(handler)

    def kept(subject: Any, call_next: CallNext) -> Any:
        ring: deque[str] = deque(maxlen=lines)
        token = _RING.set(ring)
        try:
            outcome = call_next(subject)
        except Exception as error:
            _note(error, ring)
            raise
        finally:
            _RING.reset(token)
        if inspect.isawaitable(outcome):
            return _awaited(outcome, ring, of)
        _keep(ring, of)
        return outcome

    EVERYWHERE.append(kept)

    def end() -> None:
        source.removeHandler(handler)
        if kept in EVERYWHERE:
            EVERYWHERE.remove(kept)

    return end


class _RingHandler(logging.Handler):
    """Adds lines to the ring buffer of the attempt that logs them."""

    def emit(self, record: logging.LogRecord) -> None:
        """Add a line."""
        ring = _RING.get()
        if ring is not None:
            try:
                ring.append(self.format(record)[:LONGEST])
            except Exception:
                self.handleError(record)


async def _awaited(awaitable: Awaitable[Any], ring: deque[str], of: str) -> Any:
    token = _RING.set(ring)
    try:
        outcome = await awaitable
    except Exception as error:
        _note(error, ring)
        raise
    finally:
        _RING.reset(token)
    _keep(ring, of)
    return outcome


def _keep(ring: deque[str], of: str) -> None:
    """Pass the log to the attempt, or to all attempts of a batch."""
    held = CURRENT.get()
    if of == "all" and ring and held is not None:
        for attempt in (held,) if isinstance(held, Attempt) else held.values():
            attempt.log = "\n".join(ring)


def _note(error: Exception, ring: deque[str]) -> None:
    if ring:
        error.add_note("\n".join(["log of this attempt:", *ring]))
