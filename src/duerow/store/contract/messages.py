"""The part of the contract that every store has: push, reserve and settle."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Protocol, runtime_checkable

from duerow.message import OnDuplicate, Pushed
from duerow.plan import Plan
from duerow.reservation import Receipt
from duerow.store.reads import Query
from duerow.store.writes import Entry, Record, Refused, Reserved, Retention, Turn


class MessageStore(Protocol):
    """The messages of all queues, as producers and consumers need them.

    Every write is fenced by (id, token); a turn whose receipt does not match changes nothing and is refused.
    """

    def push(
        self,
        entries: Sequence[Entry],
        on_duplicate: OnDuplicate,
        remembered: bool = False,
        once: str | None = None,
    ) -> Plan[list[Pushed]]:
        """Add messages; return a result for each, in the order given, even for repeated keys. Ids follow that order.

        With `remembered`, a remembered key is taken: the message is ignored in every mode but "reject", and the result
        has the id of the message that held the key. With `once`, that name is recorded in the same transaction; if it
        was already recorded, nothing is pushed and the result is empty.

        Raises:
            QueueDraining: a queue accepts no new messages; nothing is written.
            DuplicateKey: with "reject"; it names all taken keys of a queue; nothing is written.
        """
        ...

    def reserve(
        self,
        queue: str,
        limit: int,
        lease: timedelta,
        attempts: int | None,
        consumer: str,
        dead_letter: str | None = None,
        keep: Retention | None = None,
        kinds: Collection[str] | None = None,
        apart: bool = False,
        exact: bool = True,
    ) -> Plan[Reserved]:
        """Lend up to `limit` due messages, by (priority, due time, id), until now + lease, each to one consumer only.

        Of each group, lend only the live message with the lowest id, and only while no other message of the group is
        leased. Each row's attempts and token grow by one, and `leased_by` becomes `consumer`. If a row still has an
        unsettled lease, that is recorded as its last error. If it has also used up its `attempts`, it is instead
        buried, in place or in the queue that `dead_letter` names, and does not count toward the limit. History keeps
        such a lease as a failed turn, or as a dead one if the message is buried.

        With `kinds`, messages of other kinds stay where they are and hold back the rest of their groups.

        An error with `of_row` means that the database refused the values of one row. The claim is then repeated with
        `apart`: messages are taken in such a way that one refused message does not affect the others. The refused
        message is buried with the reason, which is also logged as an error, and counts as buried; if even that cannot
        be written, the message is skipped.

        An empty answer means that nothing was due. Without `exact`, it may miss a message that was committed long after
        it was pushed, or put back to an earlier time by another process, if the store needs long to look for one.
        `next_due` then says when to ask again.
        """
        ...

    def extend(self, receipts: Sequence[Receipt], lease: timedelta) -> Plan[dict[Receipt, datetime]]:
        """Extend leases until now + lease, keeping their tokens; return the new ends of those that are still valid."""
        ...

    def settle(self, turns: Sequence[Turn], keep: Retention | None = None) -> Plan[list[Refused]]:
        """End turns, in one transaction if the store supports that; return the turns that were refused.

        What `keep` asks for is written in the same transaction: each accepted turn that is not a release, identified by
        its receipt, and the keys of messages that are done, dead or moved.

        Raises:
            NotSupported: a turn needs a transaction over several messages, which the store does not support.
        """
        ...

    def pop(
        self,
        queue: str,
        limit: int,
        keep: Retention | None = None,
        kinds: Collection[str] | None = None,
        apart: bool = False,
    ) -> Plan[list[Record]]:
        """Take up to `limit` due messages, chosen as by `reserve`, out of the queue; each has one more attempt.

        History keeps each as a done turn, with the token that a reservation would have had. See `reserve` for `apart`.
        """
        ...

    def find(self, query: Query) -> Plan[list[Record]]:
        """Read messages without taking them."""
        ...

    def next_due(
        self,
        queues: Sequence[str],
        until: timedelta,
        kinds: Mapping[str, Collection[str]] | None = None,
        relied_on: bool = False,
    ) -> Plan[timedelta | None]:
        """Record that a consumer of these queues sleeps for up to `until`, so that pushes wake it.

        Zero means that nobody sleeps and the caller relies on the answer, so everything that is committed counts.
        Otherwise the answer may miss a message that was committed long after it was pushed; that does no harm, because
        a claim finds the message: the consumer's next one, or if that need not be exact, one when `next_due` says. A
        consumer that does not claim passes `relied_on`, and then everything counts too.

        Returns how long until the queues' next message is due (zero or less: now), or None if there is none. Leased
        messages count: they are due when their lease ends. For a queue in `kinds`, only messages of those kinds count.
        """
        ...


@runtime_checkable
class PushesChunks(Protocol):
    """An optional addition to this part, for stores that can begin a large push before all of it is encoded."""

    def push_chunks(self, queue: str, chunks: Iterable[Sequence[Entry]]) -> Plan[list[Pushed]]:
        """Add messages without keys to a queue in one transaction; return a result for each. Ids follow their order.

        Chunks are made one by one, so that the database works on one while the next is encoded. An exception raised
        while a chunk is made undoes the push.

        Raises:
            QueueDraining: the queue accepts no new messages; nothing is written.
        """
        ...


Encode = Callable[[Sequence[int]], Sequence[Entry]]
"""Returns the entries of the messages at some places of a push."""


@runtime_checkable
class PushesKeyedChunks(Protocol):
    """The same for messages with keys."""

    def push_keyed_chunks(self, queue: str, keys: Sequence[str | None], encode: Encode) -> Plan[list[Pushed]]:
        """Add messages to a queue that remembers no keys, as `push` does in the mode "ignore"; return their results.

        Args:
            queue: their queue.
            keys: the key of each message, not checked yet, perhaps the same as an earlier one; None: it has none.
            encode: returns entries, and may take long; see `Several.slow`. An exception that it raises undoes the push.
                The store asks for all of them, some at a time and in order, so that the database works on some while
                the next ones are encoded; later it may ask for a few again.

        Raises:
            QueueDraining: the queue accepts no new messages; nothing is written.
        """
        ...


@runtime_checkable
class SettlesAndReserves(Protocol):
    """An optional addition to this part, for stores where settling and reserving in one go costs less."""

    def settle_and_reserve(
        self,
        turns: Sequence[Turn],
        queue: str,
        limit: int,
        lease: timedelta,
        attempts: int | None,
        consumer: str,
        dead_letter: str | None = None,
        keep: Retention | None = None,
        kinds: Collection[str] | None = None,
    ) -> Plan[tuple[list[Refused], Reserved] | None]:
        """End turns as `settle` does, and lend due messages as `reserve` does, in one transaction.

        It may lend fewer messages than are due. Returns None, having changed nothing, if there is nothing to gain. An
        error may be due to a single message; as nothing was changed, the caller then settles and reserves separately.
        """
        ...
