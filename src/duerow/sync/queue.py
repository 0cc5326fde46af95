# Generated from ../aio/queue.py by tools/generate_sync.py; edit that file instead.
"""A queue: push, pop, reserve and settle, each a single atomic write."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from duerow.message import Draft, OnDuplicate, Pushed, Scalar, check_on_duplicate
from duerow.payload.codec import Encoded
from duerow.payload.encoding import AnyKind
from duerow.queue import edits, mapping
from duerow.queue.definition import indexed_again
from duerow.queue.handler import Handled
from duerow.retry import RetryFunction, RetryPolicy
from duerow.sync import offload
from duerow.sync.bulk import QueueBulk
from duerow.sync.definition import Definitions
from duerow.sync.handle import P
from duerow.sync.history import History
from duerow.sync.in_progress import InProgress
from duerow.sync.limits import LimitsOfQueue
from duerow.sync.operations import Operations
from duerow.sync.periods import PeriodsOfQueue
from duerow.sync.pop import Pops
from duerow.sync.redrive import Redrives
from duerow.sync.transfer import Transfers


class Queue(
    Pops[P],
    Redrives[P],
    Transfers[P],
    LimitsOfQueue[P],
    PeriodsOfQueue[P],
    History[P],
    Operations[P],
    Definitions[P],
    InProgress[P],
    Handled,
):
    """A named queue of messages, made by `Database.queue`. The payloads of a `Queue[Order]` are declared as `Order`.

    Attributes:
        database: the database that holds it.
        name: its name.
        lease: how long a reservation lasts unless it is extended.
        retry: the delays between attempts, and how many attempts are allowed.
        dead_letter: the queue that receives messages that have failed for good; None: they stay here, with the status
            dead.
        payload: the declared type of its payloads; None: JSON and bytes.
        upgrades: functions that convert other payloads to that type.
        indexed: the payload fields that have an index once the queue is declared.
        keeping: how long finished turns stay in its history, and how long it remembers the keys of messages that have
            left the queue; None: it keeps neither.
        locked_while_handled: whether a message is locked while it is handled, so that only the transactional handler
            itself can end its turn.
    """

    database: Any  # a Database; this type is left open, since a database makes queues
    locked_while_handled = False

    def with_overrides(self, lease: timedelta | None, retry: RetryPolicy | RetryFunction | None) -> Queue[P]:
        """Return another handle to this queue with this lease and retry policy; None: unchanged."""
        queue: Queue[P] = Queue(
            self.database,
            self.name,
            lease=self.lease if lease is None else lease,
            retry=self.retry if retry is None else retry,
            max_payload_bytes=self.max_payload_bytes,
            dead_letter=self.dead_letter,
            payload=self.payload,
            upgrades=self.upgrades,
            indexed=indexed_again(self.declared.indexed),
            history=None if self.keeping is None else self.keeping.history,
            remember_keys=None if self.keeping is None else self.keeping.keys,
        )
        queue._payloads = self._payloads
        return queue

    def of_any_kind(self) -> Queue[Any]:
        """Return another handle to this queue, for messages of every kind, with declared payloads as plain JSON.

        This is for programs that do not know the types, for example because they are written in other languages;
        `Message.kind` names the type. duerow's own messages, such as the results in `mail/results`, are left alone.
        """
        queue: Queue[Any] = Queue(
            self.database,
            self.name,
            lease=self.lease,
            retry=self.retry,
            max_payload_bytes=self.max_payload_bytes,
            dead_letter=self.dead_letter,
            indexed=indexed_again(self.declared.indexed),
            history=None if self.keeping is None else self.keeping.history,
            remember_keys=None if self.keeping is None else self.keeping.keys,
        )
        queue._payloads = AnyKind(self.name, sealing=self.database.encryption)
        return queue

    @property
    def names(self) -> tuple[str, ...]:
        """The queues that a worker of this queue consumes."""
        return (self.name,)

    @property
    def bulk(self) -> QueueBulk:
        """Whole batches: reserve without reading, read in ranges, end turns; for engines such as Spark."""
        return QueueBulk(self)

    # Push.

    def push(
        self,
        payload: P,
        *,
        key: str | None = None,
        due: datetime | None = None,
        delay: timedelta | None = None,
        headers: Mapping[str, Scalar] | None = None,
        group: str | None = None,
        priority: int = 0,
        on_duplicate: OnDuplicate = "ignore",
        within: Any = None,
    ) -> Pushed:
        """Add a message; return its id and whether it was created, updated or ignored.

        Args:
            payload: JSON (see `duerow.payload.codec`) or bytes; a value of the declared type if the queue has one.
            key: unique among the queue's live messages, 1 to 255 characters.
            due: the earliest time to hand it out, an aware datetime; give at most one of `due` and `delay`. Default:
                now.
            delay: how long from now, by the database's clock, until it is due.
            headers: named scalars that travel with the message.
            group: messages in the same group are handed out one at a time, in the order in which they were pushed.
            priority: lower goes first, -32,768 to 32,767.
            on_duplicate: what to do when a live message has the key: "ignore" leaves it as it is; "replace" gives it
                this payload, kind, headers, group, priority and due time, resets its attempts and error, and ends any
                lease on it; "earliest" gives it the earlier due time; "reject" raises. "replace" ignores the push if
                the live message has the status "new", is not stopped and has the same payload, and no other due time
                was given. If no live message has the key but the queue remembers it, "reject" raises and any other mode
                ignores the push.
            within: the caller's open transaction: an SQLAlchemy Connection or Session, or a driver's connection.

        Raises:
            InvalidMessage: a field is out of bounds (CodecError: the payload or a header).
            DuplicateKey: the key is taken and `on_duplicate` is "reject".
        """
        entry = offload.entry(
            self.name, payload, key, due, delay, headers, group, priority, self.max_payload_bytes, self._payloads
        )
        mode = check_on_duplicate(on_duplicate)
        pushed: list[Pushed] = self.database.run(
            lambda: self._store.messages.push([entry], mode, self._remembers), within
        )
        return pushed[0]

    def push_many(
        self, drafts: Iterable[Draft[P]], *, on_duplicate: OnDuplicate = "ignore", within: Any = None
    ) -> list[Pushed]:
        """Add all messages or none; return one result per message in the order given, even if two share a key.

        Raises:
            InvalidMessage: a field of a message is out of bounds; nothing was pushed.
            DuplicateKey: `on_duplicate` is "reject" and keys are taken (the error names them all); nothing was pushed.
        """
        mode = check_on_duplicate(on_duplicate)
        # not in a thread: it may be bound to this one
        given = list(edits.each_of(drafts, "push_many takes a list of Drafts"))
        if not given:
            return []
        terms = (self.name, self.max_payload_bytes, self._payloads)
        ignores = mode == "ignore" and not self._remembers
        # In the caller's transaction, nothing may be written before all messages are known to be valid.
        plan = None if within is not None else mapping.in_chunks(self._store.messages, given, ignores, *terms)
        if plan is None:
            entries = offload.entries(given, *terms)
            plan = partial(self._store.messages.push, entries, mode, self._remembers)
        pushed: list[Pushed] = self.database.run(plan, within, len(given))
        return pushed

    def encode(self, payload: P) -> Encoded:
        """Return a payload as this queue stores it, not yet encrypted, for a `Move` or a `Draft` to this queue.

        JSON and objects of a declarable type do not need this; a TypedDict with values that JSON cannot represent does.
        """
        return self._payloads.encode(payload, self.max_payload_bytes)
