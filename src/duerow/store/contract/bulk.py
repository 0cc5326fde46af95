"""The part of the contract for engines such as Spark, and for copies: large numbers of messages at once."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import timedelta
from typing import Protocol

from duerow.message import OnDuplicate
from duerow.plan import Plan
from duerow.reservation import Receipt
from duerow.store.bulk import Arrival, Lease, MessageHeader, Published, Reception
from duerow.store.reads import HistoryRow, Scan
from duerow.store.writes import Entry, Record, Retention, Turn


class BulkStore(Protocol):
    """Batches: what many tasks make from many messages becomes visible all at once, or not at all.

    A crash of the server may lose staged entries; `publish` notices, because it knows how many each part should have.
    """

    def lend(
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
    ) -> Plan[Lease]:
        """Like `reserve`, but return only the receipts of the messages."""
        ...

    def leased_range(self, queue: str, consumer: str, first: int, last: int, limit: int) -> Plan[list[Record]]:
        """Read up to `limit` messages with ids from `first` to `last` that are still lent to a claim, by id.

        They are found by id alone, so many tasks can read different ranges of a batch at the same time.
        """
        ...

    def message_headers(self, queue: str, receipts: Sequence[Receipt]) -> Plan[list[MessageHeader]]:
        """Read messages of a queue without their payloads, if their receipts still hold; in any order."""
        ...

    def stage(self, batch: str, part: str, entries: Sequence[Entry]) -> Plan[None]:
        """Store entries that stay invisible until they are published. Further calls with the same part add to it.

        They are kept for a day. A crash of the server may lose them, which `publish` notices.
        """
        ...

    def publish(
        self,
        batch: str,
        parts: Mapping[str, int],
        turns: Sequence[Turn] = (),
        on_duplicate: OnDuplicate = "ignore",
        once: str | None = None,
        keep: Retention | None = None,
    ) -> Plan[Published]:
        """In one transaction, end turns, push what parts of a batch staged, and delete all that the batch staged.

        The turns end first, as in `settle`. Then the parts are pushed in the order given, each in the order in which it
        was staged; a delay counts from now. With `once`, that name is recorded as well; if it was already recorded,
        nothing else happens, and the result says so.

        Args:
            batch: the name of the batch.
            parts: the parts to push, with the number of entries that each of them staged.
            turns: the turns to end.
            on_duplicate: what happens to entries whose key a live message holds; see `push`.
            once: see above.
            keep: as in `settle`.

        Raises:
            BatchRefused: a turn was refused; nothing happened.
            StagedLost: a part does not have as many entries as it staged; nothing happened.
            QueueDraining: a queue accepts no new messages; nothing happened.
            DuplicateKey: with "reject"; nothing happened.
            NotSupported: the store has no transactions over several messages.
        """
        ...

    def discard(self, batch: str) -> Plan[None]:
        """Delete what a batch staged."""
        ...

    def scan(self, query: Scan) -> Plan[list[Record] | list[HistoryRow]]:
        """Read messages, or finished turns, of many queues in the order of id and token; it needs no other index."""
        ...

    def receive(
        self, arrivals: Sequence[Arrival], history: timedelta = timedelta(0), final: bool = False
    ) -> Plan[list[Reception]]:
        """Take in messages and turns from another database, each once; return a result for each, in the order given.

        One transaction writes them together with the names that record them. Arrivals with the same old id get the same
        new id; the new ids follow the old order, and no other message ever gets them. A message arrives unchanged,
        except that it has a new id and no lease. So its token is higher than the tokens of its turns. A message whose
        key a live message holds is refused, together with the turns that are given with it. A queue that is being
        drained accepts arrivals too.

        Args:
            arrivals: the messages and turns.
            history: how long turns are kept after they have finished.
            final: whether refused arrivals are recorded as well, so that they can never arrive under their names.

        Raises:
            NotSupported: the store has no transactions over several messages.
        """
        ...
