# Generated from ../aio/in_progress.py by tools/generate_sync.py; edit that file instead.
"""Messages in progress: how far their handlers have come, where they are in their code, and how to cancel them."""

from __future__ import annotations

import time
from contextlib import suppress
from datetime import timedelta
from time import monotonic
from typing import Any, Final

import msgspec

from duerow.conditions.model import Condition, every
from duerow.errors import DuerowError, InvalidMessage, NotInProgress, TimedOut
from duerow.message import LIVE, check_queue_name, check_span
from duerow.queue import edits, mapping
from duerow.queue.beside import PROGRESS, STACK, own_key
from duerow.queue.edits import Changed
from duerow.sync.edits import Edits
from duerow.sync.handle import P
from duerow.sync.own_messages import OwnMessages
from duerow.where import field
from duerow.worker.progress import Progress, progress_of
from duerow.worker.stack import ASKED, Stack, places, stack_of

LOOK: Final = 0.1
"""Seconds between checks for the answer of a worker."""


class InProgress(Edits[P]):
    """The part of a queue for messages in progress; see `Queue`."""

    def cancel(
        self,
        id: int | None = None,
        *,
        key: str | None = None,
        where: str | Condition | None = None,
        dry_run: bool = False,
        within: Any = None,
    ) -> Changed:
        """Remove live messages, even while consumers work on them; the result is true if there were any.

        A waiting message is never handed out again. If a message is being handled, its handler is notified
        (`duerow.current().cancelled`) within a second or two of its start, and later at once if the database can notify
        its worker (SQLite, PostgreSQL with psycopg, MongoDB replica sets, memory), otherwise within a second. What the
        handler returns is ignored, and the message is not tried again. Dead messages stay. If a batch of tasks is
        waiting for one of them, that call counts as cancelled.

        Args:
            id: the message's id.
            key: the key of a live message.
            where: all live messages that meet this condition.
            dry_run: cancel nothing, only count.
            within: the caller's open transaction.

        Raises:
            ConfigurationError: not exactly one of id, key and where was given, or the id is not valid.
        """
        live = field("status").in_(LIVE)
        chosen = edits.choice(self.name, id, key, where, True, self.indexed)
        if chosen.where is not None:
            chosen = msgspec.structs.replace(chosen, where=every(chosen.where, live))
        elif chosen.id is not None:
            chosen = msgspec.structs.replace(chosen, id=None, where=every(field("id") == chosen.id, live))
        return self._change(
            lambda previous: edits.remove(self._store, chosen, previous, dry_run, self.keeping, self._notes), within
        )

    def progress(self, id: int) -> Progress | None:
        """Return the progress that a message's handler last reported; None: it reported none, or it was deleted since.

        Raises:
            ConfigurationError: the id is not valid.
        """
        key = own_key(edits.one_id(id))
        found = OwnMessages(self.database, self.name + PROGRESS, mapping.message).read([key])
        return progress_of(found[key]) if found else None

    def stack(self, id: int, *, wait: timedelta = timedelta(seconds=5)) -> Stack:
        """Ask the worker that handles a message where the handler is in its code, and return the answer.

        The worker answers within a second or two, once one of its handlers has run for a second. Only workers of this
        version answer. Workers of rows in your own tables, stations on Spark, and programs that call `reserve`
        themselves do not. The answer is kept for an hour, for `last_stack`.

        Args:
            id: the message's id.
            wait: how long to wait for the answer.

        Raises:
            ConfigurationError: the id is not valid (InvalidMessage: `wait`).
            InvalidMessage: the queue has no such message.
            NotInProgress: nobody is working on the message (any more).
            TimedOut: no answer came in time.
        """
        until = monotonic() + check_span("wait", wait).total_seconds()
        self._check_in_progress(id)
        stored = OwnMessages(self.database, check_queue_name(self.name + STACK), mapping.message)
        key = own_key(id)
        stored.push([stored.entry(key, None, self.database.host_time() + ASKED)], "replace")
        try:
            while (found := stack_of((stored.read([key])).get(key))) is None:
                self._check_in_progress(id)
                if monotonic() >= until:
                    raise TimedOut(
                        f"message {id}: its consumer did not report within {wait} where its handler is; only workers "
                        "of this version that can reach the database answer"
                    )
                time.sleep(LOOK)
        except BaseException:
            with suppress(DuerowError):  # the earlier error is the one to report
                stored.remove(key)
            raise
        return found

    def last_stack(self, id: int) -> Stack | None:
        """Return the stack that was last requested with `stack`; None: there was none in the last hour.

        Raises:
            ConfigurationError: the id is not valid.
        """
        key = own_key(edits.one_id(id))
        if not places([self.name]):
            return None
        found = OwnMessages(self.database, self.name + STACK, mapping.message).read([key])
        return stack_of(found.get(key))

    def _check_in_progress(self, id: int) -> None:
        chosen = edits.one_id(id)
        seen = self.database.run(lambda: self._store.operations.inspect(self.name, chosen, None))
        if seen is None:
            raise InvalidMessage(f"queue {self.name!r} has no message {id}; it may be done, moved or removed")
        if seen.record.leased_until is None or seen.record.leased_until <= seen.now:
            raise NotInProgress(f"message {id} is not in progress: only a running handler has a stack")
