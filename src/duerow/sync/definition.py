# Generated from ../aio/definition.py by tools/generate_sync.py; edit that file instead.
"""A queue's definition in its database: declare it, compare it with a handle's settings, and drain the queue."""

from __future__ import annotations

import logging
import time
from datetime import timedelta
from time import monotonic
from typing import Final

from duerow.errors import ConfigurationError, Conflict, TimedOut
from duerow.message import check_span
from duerow.phrases import Call
from duerow.queue.definition import (
    Declaration,
    Definition,
    check_readable,
    decoded,
    differences,
    encoded,
    field_text,
    readable,
)
from duerow.queue.retry_json import as_value
from duerow.store import Indexing
from duerow.sync.handle import P, QueueHandle

LOG: Final = logging.getLogger("duerow.queue")

SEEN_BY_ALL: Final = 0.6
"""Seconds until pushes in all processes know that a queue is being drained."""

GLANCE: Final = 0.2
"""Seconds between checks of a queue that is being drained."""

PATIENCE: Final = 60.0
"""Seconds to wait for another process that is creating indexes."""


class Definitions(QueueHandle[P]):
    """The part of a queue that manages its definition; see `Queue`."""

    @property
    def declared(self) -> Definition:
        """The queue's definition according to this handle."""
        return Definition(
            lease=self.lease,
            retry=as_value(self.retry),
            dead_letter=self.dead_letter,
            max_payload_bytes=self.max_payload_bytes,
            history=None if self.keeping is None else self.keeping.history,
            remember_keys=None if self.keeping is None else self.keeping.keys,
            indexed={field_text(index): index.kind for index in self.indexed},
        )

    def definition(self) -> Definition | None:
        """Return the queue's definition in the database; None: it was not declared.

        Raises:
            ConfigurationError: it was written by a version whose format this one does not understand.
        """
        said = self.database.run(lambda: self.database.store.metadata.settings(self.name))
        return decoded(self.name, said[0].definition) if said else None

    def declare(self, *, dry_run: bool = False) -> Declaration:
        """Write this handle's definition of the queue to the database, and create and drop indexes to match.

        The definition applies to tools that open the queue by name alone, such as the command line. Handles in Python
        use their own settings. If the database can, it creates indexes without blocking writes.

        Args:
            dry_run: change nothing, only return what would change.

        Raises:
            ConfigurationError: dead letters would go in circles with the definitions of other queues, a field to be
                indexed is encrypted, or the role may not create an index; the error then contains the statements for
                somebody who has the right to run them.
            Conflict: another process has been creating indexes for a minute.
        """
        check_readable(self.name, self.indexed, self.database.encryption)
        said = self.database.run(self.database.store.metadata.settings)
        known = {one.queue: definition for one in said if (definition := readable(one.definition)) is not None}
        self.database.check_dead_letters(known, self.name, self.dead_letter)
        indexing = self._have_indexes(dry_run)
        stored, declared = known.get(self.name), self.declared
        if stored != declared and not dry_run:
            text = encoded(declared)
            self.database.run(lambda: self.database.store.metadata.put_settings(self.name, definition=text))
        return Declaration(self.name, stored, declared, indexing.created, indexing.dropped)

    def _have_indexes(self, dry_run: bool) -> Indexing:
        patient_until = monotonic() + PATIENCE
        while True:
            try:
                return self.database.run(lambda: self.database.store.metadata.index(self.name, self.indexed, dry_run))
            except Conflict:
                if monotonic() > patient_until:
                    raise

    def tell_differences(self) -> None:
        """Log a warning for each setting that differs between the database and this handle."""
        if "metadata" not in self.database.store.capabilities.parts:
            return
        try:
            stored = self.definition()
        except ConfigurationError as error:
            LOG.warning("%s", error, extra={"event": "definition-unknown", "queue": self.name})
            return
        for difference in differences(stored, self.declared) if stored is not None else ():
            LOG.warning(
                "queue %s differs from its stored definition in %s; this program uses its own, and declare() stores it",
                self.name,
                difference,
                extra={"event": "definition-differs", "queue": self.name},
            )

    def drain(self, timeout: timedelta | None = None, *, wait: bool = True) -> None:  # noqa: ASYNC109
        """Accept no new messages, and return when no message with a due time is left; `resume` ends it.

        Pushes raise QueueDraining, in this process at once and in others within half a second. Messages that are moved
        here, redriven dead letters and messages that settlements push still arrive. Schedules wait: their ticks count
        as missed when the queue accepts messages again. Dead and stopped messages stay.

        Args:
            timeout: how long to wait; None: as long as it takes, which needs consumers.
            wait: whether to wait; if False, only reject new messages.

        Raises:
            TimedOut: messages are left; the queue is still being drained.
        """
        span = None if timeout is None else check_span("timeout", timeout)
        self.database.run(lambda: self.database.store.metadata.put_settings(self.name, draining=True))
        if not wait:
            return
        began = monotonic()
        sure_at = began + (SEEN_BY_ALL if self.database.store.capabilities.processes else 0.0)
        while True:
            is_sure = monotonic() >= sure_at
            if self._is_empty() and is_sure:
                return
            if span is not None and monotonic() - began >= span.total_seconds():
                raise TimedOut(
                    f"queue {self.name!r} still has messages after {span} and is still being drained; "
                    "wait longer with ",
                    Call("drain"),
                    ", or let it accept messages again with ",
                    Call("resume"),
                )
            time.sleep(GLANCE)

    def _is_empty(self) -> bool:
        standing = self.database.run(lambda: self.database.store.operations.queue_stats(self.name, 1))
        return not (standing.ready or standing.delayed or standing.leased or standing.waiting)
