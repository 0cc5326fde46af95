"""The contract: a few writes and a few general reads."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol

from duerow.conditions.model import Condition, Path
from duerow.message import OnDuplicate, Pushed
from duerow.plan import Plan
from duerow.reservation import Receipt
from duerow.store.bulk import Arrival, Lease, MessageHeader, Published, Reception
from duerow.store.metadata import (
    Counted,
    Counters,
    Indexed,
    Indexing,
    QueueSettings,
    QueueStats,
    ScheduleChange,
    SchedulesFound,
    StoredPipeline,
)
from duerow.store.reads import Change, Consumer, HistoryQuery, HistoryRow, Inspection, Query, Removal, Scan, Tally
from duerow.store.writes import Entry, Record, Refused, Reserved, Retention, Turn


@dataclass(frozen=True)
class Capabilities:
    """What a store can do beyond the basics; using a missing feature raises NotSupported before anything changes.

    Attributes:
        transactions: several messages change together or not at all (`commit(then=…)`, lists of moves).
        within: a push, pop or settlement can join the caller's own transaction.
        processes: several processes can work on it.
        hosts: those processes may run on different hosts.
        parallel_writes: several transactions can write at the same time; otherwise transactional handlers run one at a
            time.
        wakes_consumers: a push wakes an idle consumer; otherwise consumers poll every second.
        receives: messages of another database can arrive unchanged (`receive`).
        passes_over: a pop skips messages that another transaction holds, or waits for them; otherwise the later of the
            two transactions fails, so a pop outside of the caller's transaction is a reservation that is committed at
            once.
    """

    transactions: bool = True
    within: bool = True
    processes: bool = True
    hosts: bool = True
    parallel_writes: bool = True
    wakes_consumers: bool = True
    receives: bool = False
    passes_over: bool = True


class Store(Protocol):
    """The contract. Every method returns a plan; a plan with several steps yields BEGIN first.

    Every write is fenced by (id, token); a turn whose receipt does not match changes nothing and is refused. The time
    is the database server's, or comes from the clock given when the store was opened.
    """

    capabilities: Capabilities

    # Writes.

    def push(
        self,
        entries: Sequence[Entry],
        on_duplicate: OnDuplicate,
        remembered: bool = False,
        once: str | None = None,
    ) -> Plan[list[Pushed]]:
        """Add messages; return a result for each in the order given, also for repeated keys. Ids follow that order.

        With `remembered`, a remembered key is taken: the message is ignored in every mode but "reject", and the result
        has the id of the message that held the key. With `once`, that name is recorded in the same transaction; if it
        was already recorded, nothing is pushed, and the result is empty.

        Raises:
            QueueDraining: a queue takes no new messages; nothing is written.
            DuplicateKey: with "reject", naming all taken keys of a queue; nothing is written.
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
    ) -> Plan[Reserved]:
        """Lend up to `limit` due messages until now + lease, first by (priority, due time, id), none to two consumers.

        Of a group, lend only the live message with the lowest id, and only while no other message of the group is
        leased. Each row's attempts and token grow by one, and `leased_by` becomes `consumer`. If a row still carries an
        unsettled lease, that is recorded as its last error; if it has also used up its `attempts`, it is buried instead
        and does not count towards the limit: in place, or in the queue that `dead_letter` names. History keeps such a
        lease as a failed turn, or as a dead one if the message is buried.

        With `kinds`, messages of other kinds stay where they are, and hold back the rest of their groups.

        An error with `of_row` means that the database refused the values of one row. The claim is then repeated with
        `apart`: messages are taken such that one refused message does not affect the others. The refused message is
        buried with the reason, which is also logged as an error, and counts as buried; if even that cannot be written,
        the message is skipped.
        """
        ...

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
        """As `reserve`, but the messages stay in the database: only their receipts are returned."""
        ...

    def extend(self, receipts: Sequence[Receipt], lease: timedelta) -> Plan[dict[Receipt, datetime]]:
        """Extend leases until now + lease under the same tokens; return the new ends of those that are still ours."""
        ...

    def settle(self, turns: Sequence[Turn], keep: Retention | None = None) -> Plan[list[Refused]]:
        """End turns, in one transaction if the store has them; return those that were refused.

        What is kept of the other turns is written in the same transaction: each turn except a released one, identified
        by its receipt, and the keys of messages that are done, dead or moved.

        Raises:
            NotSupported: a turn needs a transaction over several messages and the store has none.
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
        """Take up to `limit` due messages out of the queue, chosen as by `reserve`; each counts one more attempt.

        History keeps each as a done turn, with the token that a reservation would have had. `apart` is as for
        `reserve`.
        """
        ...

    def remove(
        self, queue: str, ids: Sequence[int], keys: Sequence[str], even_if_leased: bool, keep: Retention | None = None
    ) -> Plan[Removal]:
        """Take messages out of the queue by id, and live ones by key; remember their keys as `keep` says."""
        ...

    def change(self, queue: str, changes: Sequence[Change], even_if_leased: bool, dry_run: bool) -> Plan[list[Refused]]:
        """Change messages, in one transaction if the store has them; return those that were refused.

        Each change raises the token and clears the lease, also one that ended unsettled. A message whose running lease
        is cleared is due at once unless the change says otherwise. A dead message that gets a due time becomes live
        again, with status `error`. A change is refused if the token has changed (LeaseLost), if a lease is running
        (MessageLeased) unless `even_if_leased`, or if another live message holds the key (DuplicateKey). A dry run
        changes nothing and refuses the same messages.
        """
        ...

    def set_schedule(self, change: ScheduleChange) -> Plan[bool]:
        """Change a schedule and push its messages, both or neither; False: another was faster, nothing changed."""
        ...

    def set_pipeline(self, name: str, version: int | None, after: StoredPipeline | None) -> Plan[bool]:
        """Store the pipeline `after`, or None to remove it; False: the version has changed, so nothing was written.

        A version of None means that no pipeline has this name yet.
        """
        ...

    # Writes of whole batches: what many tasks make of many messages becomes visible at once, or not at all.

    def stage(self, batch: str, part: str, entries: Sequence[Entry]) -> Plan[None]:
        """Store entries that stay invisible until they are published. The same batch and part again adds to it.

        They are kept for a day, and may be lost if the server crashes: `publish` notices.
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
        """End turns, push what parts of a batch staged, and delete everything that it staged: in one transaction.

        The turns end first, as in `settle`. Then the parts are pushed in the order given, each in the order in which it
        was staged; a delay counts from now. With `once`, that name is recorded as well; if it was already recorded,
        nothing else happens, and the result says so.

        Args:
            batch: the name of the batch.
            parts: its parts to push, with the number of entries that each of them staged.
            turns: the turns to end.
            on_duplicate: what happens to entries whose key a live message holds; see `push`.
            once: see above.
            keep: as in `settle`.

        Raises:
            BatchRefused: a turn was refused; nothing happened.
            StagedLost: a part has a different number of entries from what it staged; nothing happened.
            QueueDraining: a queue takes no new messages; nothing happened.
            DuplicateKey: with "reject"; nothing happened.
            NotSupported: the store has no transactions over several messages.
        """
        ...

    def discard(self, batch: str) -> Plan[None]:
        """Delete what a batch staged."""
        ...

    def receive(
        self, arrivals: Sequence[Arrival], history: timedelta = timedelta(0), final: bool = False
    ) -> Plan[list[Reception]]:
        """Take in messages and turns of another database, each once; return a result for each in the order given.

        One transaction writes them together with the names that record them. Arrivals with the same id there get the
        same new id here; the new ids follow the old order, and no other message ever gets them. A message arrives
        unchanged except for its id and its lease: nobody has it leased. Therefore its token is above those of its
        turns. A message whose key a live message holds is refused, and so are the turns that are given with it. A queue
        that is being drained accepts all of them nevertheless.

        Args:
            arrivals: the messages and turns.
            history: how long turns are kept after they finished.
            final: refused arrivals are recorded as well, so that they never arrive under their names.

        Raises:
            NotSupported: the store has no transactions over several messages.
        """
        ...

    # Writes about queues, schedules, pipelines and consumers.

    def put_settings(
        self, queue: str, paused: bool | None = None, draining: bool | None = None, definition: str | None = None
    ) -> Plan[None]:
        """Record the settings of a queue; None: unchanged. Other processes see them within a second.

        A paused queue hands nothing out. A draining queue takes no new messages: `push` raises QueueDraining, but
        messages that are moved there, and pushes by settlements, still arrive.
        """
        ...

    def index(self, queue: str, fields: Sequence[Indexed], dry_run: bool) -> Plan[Indexing]:
        """Make indexes for exactly these payload fields of a queue, and drop its others; a dry run only reports.

        Messages of other queues are not indexed, and no payload makes a push fail. No writer has to wait if the
        database supports that.

        Raises:
            Conflict: another process is making indexes.
        """
        ...

    def note_consumer(self, name: str, queues: Sequence[str], kinds: Sequence[str], version: str) -> Plan[None]:
        """Record that a consumer is active now; forget those not seen for a day."""
        ...

    def note_counts(self, process: str, rows: Sequence[Counted]) -> Plan[None]:
        """Store what a process counted, replacing its earlier counts for the same queues and minutes.

        Rows older than 70 minutes, of any process, are added to their queue's lifetime totals and deleted, a few
        hundred at a time.
        """
        ...

    def purge(self, queue: str, limit: int, last: int) -> Plan[int]:
        """Delete up to `limit` messages with ids up to `last` from the queue, whatever their state; return how many."""
        ...

    def prune(self, limit: int) -> Plan[int]:
        """Delete what was kept long enough: up to `limit` turns, and as many of everything else; return how many.

        This covers expired turns and keys, what was staged more than a day ago, and names of `once` that were recorded
        more than 30 days ago.
        """
        ...

    # Reads.

    def leased_range(self, queue: str, consumer: str, first: int, last: int, limit: int) -> Plan[list[Record]]:
        """Read messages with ids from `first` to `last` that are still lent to a claim, by id, at most `limit`.

        They are found by id alone, so many tasks can read a batch at the same time, each a range of it.
        """
        ...

    def message_headers(self, queue: str, receipts: Sequence[Receipt]) -> Plan[list[MessageHeader]]:
        """Read messages of a queue without their payloads, if their receipts still hold; in any order."""
        ...

    def find(self, query: Query) -> Plan[list[Record]]:
        """Read messages without taking them."""
        ...

    def history(self, query: HistoryQuery) -> Plan[list[HistoryRow]]:
        """Read finished turns."""
        ...

    def scan(self, query: Scan) -> Plan[list[Record] | list[HistoryRow]]:
        """Read messages, or finished turns, of many queues in the order of id and token; that order alone serves it."""
        ...

    def peek(self, queue: str, limit: int) -> Plan[list[Record]]:
        """Read up to `limit` messages that `reserve` would lend, in its order; of a group, the one whose turn it is."""
        ...

    def queue_stats(self, queue: str, cap: int | None) -> Plan[QueueStats]:
        """Return the state of a queue; count each number up to `cap` at most."""
        ...

    def counters(self, queue: str) -> Plan[Counters]:
        """Read what all processes counted for a queue."""
        ...

    def inspect(self, queue: str, id: int | None, key: str | None) -> Plan[Inspection | None]:
        """Read a message by id, or a live one by key, and what stands between it and a consumer."""
        ...

    def count(self, queue: str) -> Plan[dict[str, int]]:
        """Count the queue's messages by status; a status without messages may be missing."""
        ...

    def tally(
        self,
        queue: str,
        where: Condition | None,
        by: Path | None,
        limit: int | None,
        indexed: tuple[Indexed, ...] = (),
    ) -> Plan[Tally]:
        """Count at most `limit` + 1 of the messages that match a condition, by the value at a path.

        Args:
            queue: the queue to count in.
            where: the condition; None: all messages.
            by: the path; None: all messages are counted together.
            limit: see above; None: count all.
            indexed: as in `Query`.
        """
        ...

    def settings(self, queue: str | None = None) -> Plan[list[QueueSettings]]:
        """Read the settings of a queue, or of all queues that have any, in the order of their names."""
        ...

    def queues(self, past: bool = False) -> Plan[list[str]]:
        """List the names of the queues that have messages, in order of name.

        With `past`, also the queues that have no messages but still have turns, keys or counts.
        """
        ...

    def consumers(self) -> Plan[list[Consumer]]:
        """Read the known consumers, in the order of their names; some may be gone by now."""
        ...

    def next_due(
        self, queues: Sequence[str], until: timedelta, kinds: Mapping[str, Collection[str]] | None = None
    ) -> Plan[timedelta | None]:
        """Record that a consumer of these queues sleeps for up to `until`, so that pushes wake it.

        Zero means that nobody sleeps and the caller relies on the answer: everything that is committed counts.
        Otherwise the answer may miss a message that was committed long after it was pushed, since a sleeping consumer
        looks again.

        Returns how long until their next message is due (zero or less: now), None if there is none. Leased messages
        count: they are due at the end of their lease. For a queue in `kinds`, only messages of those kinds count.
        """
        ...

    def schedules(self, name: str | None = None, due: bool = False) -> Plan[SchedulesFound]:
        """Read the schedules: all, the one with a name, or up to 100 that are due, the longest due first.

        All schedules are read in the order of their names.
        """
        ...

    def pipelines(self, name: str | None = None) -> Plan[list[StoredPipeline]]:
        """Read all stored pipelines in the order of their names, or only the one with this name."""
        ...

    # The tables.

    def check(self) -> Plan[None]:
        """Raise SchemaOutdated or SchemaNewer unless the tables match this version."""
        ...

    def migrate(self) -> Plan[list[str]]:
        """Bring the tables up to this version; return the migrations applied, by name. Safe to call concurrently."""
        ...

    def migration_sql(self) -> str:
        """Return what `migrate` would run on an empty database, as text for someone with the rights to run it."""
        ...

    def roles_sql(self, names: Mapping[str, str]) -> str:
        """Return the statements that grant roles their rights on the tables, as text.

        Args:
            names: the database's names for the roles `producer`, `consumer`, `operator` and `reader`; a role that is
                missing here is named by the prefix and that word.

        Raises:
            ConfigurationError: a name is invalid.
            NotSupported: the database has no roles, or does not manage them by statements.
        """
        ...
