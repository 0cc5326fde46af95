"""A handler's current attempt: whether the message is still its own, and the progress that it reports."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from copy import copy
from typing import Final

import msgspec

from duerow.errors import ConfigurationError, MessageGone
from duerow.message import Message
from duerow.payload.encoding import shown_failure
from duerow.reservation import BareReservation
from duerow.worker.progress import Progress, said

Told = Callable[[Exception], None]

_LOG: Final = logging.getLogger("duerow.worker")

# Ending an attempt early is rare and quick, so one lock serves all attempts, of which there are millions.
_telling = threading.Lock()


def _begin_anew() -> None:
    global _telling
    _telling = threading.Lock()


if hasattr(os, "register_at_fork"):  # otherwise a child could wait forever for a thread that only its parent has
    os.register_at_fork(after_in_child=_begin_anew)


class Attempt(msgspec.Struct, gc=False, eq=False):
    """One message in the hands of a worker, from its claim until it is settled.

    Kept out of Python's garbage collection, which would otherwise scan every attempt of a batch repeatedly. So it must
    not be part of a cycle: its error is never raised, only copies of it, and the callbacks are dropped at the end.

    Attributes:
        reservation: the right to work on the message.
        claimed_at: when it was claimed, on the monotonic clock in seconds.
        extended_at: when its lease last began or was extended, on the same clock.
        finished: whether the outcome of the turn is decided.
        error: why the attempt is over before its handler ended: LeaseLost (another consumer may have the message) or
            MessageGone (the same, and the message has left its queue: it was cancelled), or TimedOut (the handler ran
            longer than the worker's timeout, or longer than its grace when the worker was stopped); None while the
            message is the handler's own. After an error, whatever the handler returns changes nothing.
        seconds: how long its handler took; None: it has not begun, or has not ended.
        said: the progress that its handler last reported; None: none.
        unwritten: whether that progress still has to be written.
        log: the handler's log, if the history keeps it; see `keep_attempt_logs`.
    """

    reservation: BareReservation
    claimed_at: float
    extended_at: float
    finished: bool = False
    error: Exception | None = None
    told: tuple[Told, ...] = ()
    seconds: float | None = None
    said: Progress | None = None
    unwritten: bool = False
    log: str | None = None

    @property
    def message(self) -> Message:
        """The message of this attempt."""
        return self.reservation.message

    @property
    def over(self) -> bool:
        """Whether the message is no longer the handler's own, so that the handler should stop."""
        return self.error is not None

    @property
    def cancelled(self) -> bool:
        """Whether the message has left its queue, as if cancelled: noticed within a second or two.

        If the database can notify its worker, a handler that has run for a second notices it at once.
        """
        return isinstance(self.error, MessageGone)

    def progress(self, fraction: float | None = None, text: str | None = None) -> None:
        """Report how far the handler has come: `current().progress(0.4, "page 4 of 10")`.

        The call returns at once. The worker writes the latest report within about a second: `Queue.progress`,
        `duerow show` and the dashboard show it.

        Args:
            fraction: how much is done, from 0 to 1.
            text: what the handler is doing, up to 500 characters.

        Raises:
            ConfigurationError: the fraction or the text is not valid, or neither is given.
        """
        self.said = said(fraction, text, self.message.attempts)
        self.unwritten = True

    def check(self) -> None:
        """Raise the error that ended the attempt, if it is over; for handlers that work in steps."""
        if self.error is not None:
            raise copy(self.error)

    def when_over(self, told: Told) -> None:
        """Call a function with the error as soon as the attempt is over; immediately if it already is.

        The call comes from another thread: use `loop.call_soon_threadsafe` in it to reach a coroutine.
        """
        with _telling:
            if self.error is None:
                self.told = (*self.told, told)
                return
        told(copy(self.error))

    def wait(self, seconds: float) -> bool:
        """Sleep for this many seconds, but not longer than the attempt lasts; return whether it is over."""
        rung = threading.Event()
        self.when_over(lambda error: rung.set())
        return rung.wait(seconds)

    def tell(self, error: Exception) -> None:
        """End the attempt for its handler; for the worker. Only the first error counts."""
        with _telling:
            if self.error is not None:
                return
            self.error = copy(error)
            told, self.told = self.told, ()
        for each in told:
            try:
                each(copy(error))
            except Exception as failed:  # user code: other attempts' leases must not depend on it
                quiet = self.reservation.sealed is not None  # its traceback could quote the payload
                why = shown_failure(failed, quiet).message
                text = "a function passed to when_over() failed: %s"
                _LOG.error(text, why, exc_info=None if quiet else failed)

    def closed(self) -> None:
        """Drop the callbacks, because nothing more will happen to the attempt; for the worker."""
        self.told = ()


CURRENT: Final[ContextVar[Attempt | Mapping[int, Attempt] | None]] = ContextVar("duerow_attempt", default=None)
"""The attempt of this thread or task; for a batch, its attempts by their messages' ids."""


def current(message: Message | None = None) -> Attempt | None:
    """Return the calling handler's attempt; None outside of a worker's handler.

    Args:
        message: one of the messages in hand. A handler of whole batches has many and must say which; others need not.

    Raises:
        ConfigurationError: the handler has a batch in hand, and no message was given.
    """
    making = CURRENT.get()
    if making is None or isinstance(making, Attempt):
        return making if making is None or message is None or message.id == making.message.id else None
    if message is None:
        raise ConfigurationError(
            f"this handler has a batch of {len(making)} messages in hand, each with its own attempt; name one of them: "
            "current(message)"
        )
    return making.get(message.id)
