"""What a worker logs: one line for each event, with its name, ids, queue and attempt as structured extras.

Logger `duerow.worker`. DEBUG: done. INFO: fetched, given back, the database answers again. WARNING: failed (cause,
and when the next attempt is due), lease lost, the database cannot be reached, a settlement of unknown outcome.
ERROR: buried, a broken retry policy, a settlement that cannot be carried out, a schedule that cannot tick.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from datetime import datetime, timedelta
from time import monotonic
from typing import Any, Final

import msgspec

from duerow.message import Failure, Message
from duerow.payload.encoding import shown_failure
from duerow.queue.limits import RunLimits
from duerow.settlement import DONE, Bury, Left, Release, Rollback
from duerow.worker.attempt import Attempt
from duerow.worker.in_flight import Ended

LOG: Final = logging.getLogger("duerow.worker")

_QUIET: Final = (Rollback, Bury, Release, Left)


class WorkerLog:
    """The lines of one worker on one queue."""

    def __init__(self, queue: str, worker: str, quiet: bool = False) -> None:
        self._queue, self._worker, self._quiet = queue, worker, quiet

    def fetched(self, attempts: Sequence[Attempt]) -> None:
        """Messages were claimed."""
        self._many("fetched", logging.INFO, "fetched %d of %s", attempts)

    def apart(self, attempts: Sequence[Attempt]) -> None:
        """Messages that were in hand when a worker died are handled alone."""
        text = "%d of %s were in progress when their worker died; each is handled alone, while nothing else runs"
        self._many("isolated", logging.INFO, text, attempts)

    def settled(self, batch: Sequence[Ended]) -> None:
        """Turns ended as decided."""
        done = [one.attempt for one in batch if one.settlement is DONE or not isinstance(one.settlement, _QUIET)]
        if done:
            self._many("done", logging.DEBUG, "done %d of %s", done)
        if len(done) == len(batch):
            return
        for one in batch:
            if isinstance(one.settlement, Rollback):
                self._failed(one.attempt, one.settlement)
            elif isinstance(one.settlement, Bury):
                self._buried(one.attempt, one.settlement)
        if back := [one.attempt for one in batch if isinstance(one.settlement, Release)]:
            self._many("given-back", logging.INFO, "released %d of %s, not begun", back)
        if left := [one.attempt for one in batch if isinstance(one.settlement, Left)]:
            self._many(
                "left", logging.INFO, "left %d of %s as they are: they were removed or changed in the meantime", left
            )

    def lost(self, attempt: Attempt) -> None:
        """A message is no longer this worker's."""
        self._one(
            "lease-lost",
            logging.WARNING,
            "lease lost on message %s of %s, attempt %d; its handler's result is dropped",
            attempt,
        )

    def unsettled(self, attempt: Attempt, error: BaseException) -> None:
        """A turn could not even be ended as failed."""
        self._one(
            "unsettled", logging.ERROR, "cannot settle message %s of %s, attempt %d: %s", attempt, self._why(error)
        )

    def broken_policy(self, attempt: Attempt, error: BaseException) -> None:
        """A retry policy raised, or returned an invalid delay."""
        text = "the retry policy failed for message %s of %s, attempt %d: %s; using the default policy"
        self._one("policy-failed", logging.ERROR, text, attempt, self._why(error))

    def unknown(self, attempts: Sequence[Attempt], error: BaseException) -> None:
        """The answer to a settlement was lost."""
        text = "cannot tell whether %d of %s were settled: %s; those that were not are due at the end of their lease"
        self._many("unknown-outcome", logging.WARNING, text, attempts, _line(error))

    def given_up(self, attempts: Sequence[Attempt], error: BaseException) -> None:
        """The worker stops and could not settle."""
        text = "stopped before %d of %s could be settled: %s; they are due again at the end of their lease"
        self._many("given-up", logging.WARNING, text, attempts, _line(error))

    def unavailable(self, what: str, error: BaseException, seconds: float) -> None:
        """The database does not answer."""
        extra = self._extra("unavailable")
        LOG.warning("cannot %s %s: %s; trying again in %.1f s", what, self._queue, _line(error), seconds, extra=extra)

    def available(self, what: str) -> None:
        """The database answers again."""
        LOG.info("can %s %s again", what, self._queue, extra=self._extra("available"))

    def deaf(self, error: BaseException) -> None:
        """Listening for pushes does not work at the moment."""
        text = "cannot listen for pushes to %s: %s; polling instead"
        LOG.warning(text, self._queue, _line(error), extra=self._extra("deaf"))

    def not_ticking(self, schedule: str, error: BaseException) -> None:
        """A schedule is due and cannot push its message."""
        text = "schedule %s cannot tick: %s; trying again from time to time"
        LOG.error(text, schedule, _line(error), extra=self._extra("schedule-failed", schedule=schedule))

    def not_counted(self, error: BaseException) -> None:
        """The counts for `stats` could not be written."""
        text = "the counts of %s for the last few seconds may be missing from the stats: %s"
        LOG.warning(text, self._queue, _line(error), extra=self._extra("not-counted"))

    def permitted(self, permits: int) -> None:
        """The worker now holds a different number of the cluster's permits."""
        LOG.info("holds %d permits of %s", permits, self._queue, extra=self._extra("permits", permits=permits))

    def limited(self, limits: RunLimits) -> None:
        """Operators have changed the limits."""
        said = msgspec.to_builtins(limits)
        LOG.info("limits set by operators on %s: %s", self._queue, said or "none", extra=self._extra("limited"))

    def stopping(self, running: int, waiting: int) -> None:
        """The worker stops."""
        text = "stopping on %s: %d handlers are running, %d messages are released"
        if running or waiting:
            LOG.info(
                text, self._queue, running, waiting, extra=self._extra("stopping", running=running, waiting=waiting)
            )

    def _failed(self, attempt: Attempt, settlement: Rollback) -> None:
        delay = settlement.delay or timedelta(0)
        retry_at = _server_time(attempt) + delay
        text = "message %s of %s failed at attempt %d: %s; retry at %s UTC"
        cause = self._why(settlement.error)
        self._one(
            "failed",
            logging.WARNING,
            text,
            attempt,
            cause,
            f"{retry_at:%Y-%m-%d %H:%M:%S}",
            cause=cause,
            retry_at=retry_at,
        )

    def _buried(self, attempt: Attempt, settlement: Bury) -> None:
        cause = self._why(settlement)
        self._one(
            "buried", logging.ERROR, "message %s of %s is buried after attempt %d: %s", attempt, cause, cause=cause
        )

    def _why(self, error: Any) -> str:
        """Return a message's error in one line; only its type and place if errors may quote the payload."""
        return _one_line(shown_failure(error, self._quiet))

    def _one(self, event: str, level: int, text: str, attempt: Attempt, *values: Any, **more: Any) -> None:
        if LOG.isEnabledFor(level):
            message = attempt.message
            named = {"message_id": message.id, "attempt": message.attempts, "key": message.key, "queue": message.queue}
            if (trace_id := _trace_of(message)) is not None:
                named["trace_id"] = trace_id
            LOG.log(
                level,
                text,
                message.id,
                message.queue,
                message.attempts,
                *values,
                extra=self._extra(event, **named, **more),
            )

    def _many(self, event: str, level: int, text: str, attempts: Sequence[Attempt], *values: Any) -> None:
        if not LOG.isEnabledFor(level):
            return
        ids_of: dict[str, list[int]] = {}
        for attempt in attempts:
            ids_of.setdefault(attempt.message.queue, []).append(attempt.message.id)
        for queue, ids in ids_of.items():
            extra = self._extra(event, queue=queue, message_ids=ids, count=len(ids))
            LOG.log(level, text, len(ids), queue, *values, extra=extra)

    def _extra(self, event: str, **more: Any) -> dict[str, Any]:
        return {"event": event, "queue": self._queue, "worker": self._worker, **more}


def _trace_of(message: Message) -> str | None:
    """Return the id of the trace that a message belongs to, if its headers name one (W3C's `traceparent`)."""
    parts = str(message.headers.get("traceparent", "")).split("-")
    return parts[1] if len(parts) == 4 else None


def _server_time(attempt: Attempt) -> datetime:
    """The database's clock, as far as this process can tell: when the message was reserved, plus the time since."""
    message = attempt.message
    reserved_at = message.last_attempt_at or message.first_due_at
    return reserved_at + timedelta(seconds=monotonic() - attempt.claimed_at)


def _line(error: Any) -> str:
    """Return one line of at most 500 characters that says what went wrong."""
    return _one_line(shown_failure(error, False))


def _one_line(described: Failure) -> str:
    return " ".join(described.message.split())[:500] or described.type
