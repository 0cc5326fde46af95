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
    """What a store can do beyond what all can; a missing one raises NotSupported before anything changes.

    Attributes:
        transactions: several messages change together or not at all (`commit(then=…)`, lists of moves).
        within: a push, pop or settlement can join the caller's own transaction.
        processes: several processes can work on it.
        hosts: those processes may run on different hosts.
        parallel_writes: several transactions write at a time; without it transactional handlers run one at a time.
        wakes_consumers: a push wakes an idle consumer; without it consumers poll every second.
        receives: messages of another database can arrive as they were (`receive`).
        passes_over: a pop passes over what another transaction has, or waits for it; without it the later of both is
            ended, so a pop outside of the caller's transaction is a reservation that is committed at once.
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
    """The contract. Every method returns a plan; a plan of several steps yields BEGIN first.

    Every write is fenced by (id, token); a turn whose receipt does not match changes nothing and is refused.
    Time is the database server's, or the clock given when the store was opened.
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
        """Add messages; the answer of each in the order given, also for keys that occur twice. Ids follow that order.

        With `remembered` a key that is remembered is taken: ignored in every mode but "reject", with the id of the
        message that held it. With `once` that name is noted in the same transaction; if it is noted already nothing
        is pushed, and the answer is empty.

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

        Of a group only the live message with the lowest id, and while no other of the group is leased.
        Each row's attempts and token grow by one, `leased_by` becomes `consumer`. A row that still carries an
        unsettled lease has that recorded as its last error; if it has used up its `attempts` it is buried instead
        and does not count towards the limit: in place, or in the queue that `dead_letter` names. Of what is kept, such
        a lease is a failed turn, and of a message that is buried a dead one.

        With `kinds` messages of other kinds are left as they are, and keep the others of their groups back.

        An error that says `of_row` means that the database refused what one row would hold. The claim is made once
        more then, with `apart`: each message is taken so that one that is refused leaves the others alone. That one is
        buried with the reason, which is logged as an error, too, and counts as buried; if not even that can be
        written, it is passed over.
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
        """As `reserve`, but the messages stay where they are: only their receipts are answered."""
        ...

    def extend(self, receipts: Sequence[Receipt], lease: timedelta) -> Plan[dict[Receipt, datetime]]:
        """Let the leases run until now + lease under the same tokens; return the new ends of those still ours."""
        ...

    def settle(self, turns: Sequence[Turn], keep: Retention | None = None) -> Plan[list[Refused]]:
        """End turns, all in one transaction where the store has them; return those that were refused.

        What is to be kept of the others is written in the same transaction: each turn but a released one with the
        receipt as its key, and the keys of messages that are done, dead or moved.

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
        """Take up to `limit` due messages out of the queue, as `reserve` would; each counts one more attempt.

        Of what is kept each is a turn that is done, with the token that a reservation would have had. `apart` is as
        for `reserve`.
        """
        ...

    def remove(
        self, queue: str, ids: Sequence[int], keys: Sequence[str], even_if_leased: bool, keep: Retention | None = None
    ) -> Plan[Removal]:
        """Take messages out of the queue by id, and live ones by key; of what is kept, remember their keys."""
        ...

    def change(self, queue: str, changes: Sequence[Change], even_if_leased: bool, dry_run: bool) -> Plan[list[Refused]]:
        """Change messages, in one transaction where the store has them; return those that were refused.

        Each change raises the token and clears the lease, also one that ended unsettled. A message whose running
        lease is cleared is due at once unless the change says otherwise. A dead one that is given a due time is alive
        again, status `error`. Refused are those whose token is another by now (LeaseLost), on which a lease runs
        (MessageLeased) unless `even_if_leased`, and whose key another live message holds (DuplicateKey). In a dry run
        nothing is changed, and the same are refused.
        """
        ...

    def set_schedule(self, change: ScheduleChange) -> Plan[bool]:
        """Change a schedule and push what it pushes, both or neither; False: another was faster, nothing changed."""
        ...

    def set_pipeline(self, name: str, version: int | None, after: StoredPipeline | None) -> Plan[bool]:
        """Keep a pipeline as it is `after`, None: no longer; False: it has another version by now, nothing changed.

        A version of None means that there is none of this name yet.
        """
        ...

    # Writes of whole batches: what many tasks make of many messages becomes visible at once, or not at all.

    def stage(self, batch: str, part: str, entries: Sequence[Entry]) -> Plan[None]:
        """Keep entries that nobody sees until they are published. The same batch and part again adds to it.

        They are kept for a day, and may be lost when the server crashes: `publish` notices.
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
        """End turns, push what parts of a batch staged, and forget all that it staged: in one transaction.

        The turns end first, as `settle` ends them. Then comes a push of the parts in the order in which they are
        given, each in the order in which it was staged; a delay counts from now. With `once` that name is noted
        as well; if it is noted already nothing else happens, and the answer says so.

        Args:
            batch: which batch.
            parts: of which of its parts, and how many entries each of them staged.
            turns: what ends.
            on_duplicate: what becomes of entries whose key a live message holds; see `push`.
            once: see above.
            keep: as in `settle`.

        Raises:
            BatchRefused: a turn was refused; nothing happened.
            StagedLost: a part has not as many entries as it staged; nothing happened.
            QueueDraining: a queue takes no new messages; nothing happened.
            DuplicateKey: with "reject"; nothing happened.
            NotSupported: the store has no transactions over several messages.
        """
        ...

    def discard(self, batch: str) -> Plan[None]:
        """Forget what a batch staged."""
        ...

    def receive(
        self, arrivals: Sequence[Arrival], history: timedelta = timedelta(0), final: bool = False
    ) -> Plan[list[Reception]]:
        """Take in messages and turns of another database, each once; the answer of each in the order given.

        In one transaction with the names that they are noted under. What has the same id there has the same new id
        here; the new ids follow the old ones, and no other message ever gets them. A message arrives as it is given,
        but for its id and its lease: nobody has it. So its token is above those of its turns. One whose key a live
        message holds is refused, and so are the turns that are given with it. A queue that is being drained takes them
        all the same.

        Args:
            arrivals: what comes.
            history: how long turns are kept after they finished.
            final: what is refused is noted as well, so that it never arrives under its name.

        Raises:
            NotSupported: the store has no transactions over several messages.
        """
        ...

    # Writes about queues, schedules, pipelines and consumers.

    def put_settings(
        self, queue: str, paused: bool | None = None, draining: bool | None = None, definition: str | None = None
    ) -> Plan[None]:
        """Note what is said of a queue; None: as it was. Seen by other processes within a second.

        A paused queue hands nothing out. A draining one takes no new messages: `push` raises QueueDraining, but what
        is moved there, and what settlements push, arrives.
        """
        ...

    def index(self, queue: str, fields: Sequence[Indexed], dry_run: bool) -> Plan[Indexing]:
        """Have indexes for these payload fields of a queue, and for no others of it; in a dry run only tell.

        What is in other queues is not indexed, and no payload makes a push fail. No writer waits where the database
        can do that.

        Raises:
            Conflict: another process is making indexes.
        """
        ...

    def note_consumer(self, name: str, queues: Sequence[str], kinds: Sequence[str], version: str) -> Plan[None]:
        """Note that a consumer is there now; forget those not heard of for a day."""
        ...

    def note_counts(self, process: str, rows: Sequence[Counted]) -> Plan[None]:
        """Keep what a process counted, in place of what it said of the same queues and minutes before.

        Rows of more than 70 minutes ago, of whatever process, are added to their queue's lifetime and forgotten, some
        hundreds at a time.
        """
        ...

    def purge(self, queue: str, limit: int, last: int) -> Plan[int]:
        """Take up to `limit` messages with ids up to `last` out of the queue, whatever they are; return how many."""
        ...

    def prune(self, limit: int) -> Plan[int]:
        """Take away what was kept long enough: up to `limit` turns, and as many of everything else; return how many.

        Turns and keys when their time is over, what was staged more than a day ago, and names of `once` that were noted
        more than 30 days ago.
        """
        ...

    # Reads.

    def leased_range(self, queue: str, consumer: str, first: int, last: int, limit: int) -> Plan[list[Record]]:
        """Read messages with ids from `first` to `last` that are still lent to a claim, by id, at most `limit`.

        Found by their ids alone, so many can read a batch at the same time, each a range of it.
        """
        ...

    def message_headers(self, queue: str, receipts: Sequence[Receipt]) -> Plan[list[MessageHeader]]:
        """Read what messages of a queue are, but for their payloads, as long as the receipts hold; in any order."""
        ...

    def find(self, query: Query) -> Plan[list[Record]]:
        """Read messages without taking them."""
        ...

    def history(self, query: HistoryQuery) -> Plan[list[HistoryRow]]:
        """Read turns that are over."""
        ...

    def scan(self, query: Scan) -> Plan[list[Record] | list[HistoryRow]]:
        """Read messages, or turns that are over, of many queues in the order of id and token; served by that alone."""
        ...

    def peek(self, queue: str, limit: int) -> Plan[list[Record]]:
        """Read up to `limit` messages that `reserve` would lend, in its order; of a group the one whose turn it is."""
        ...

    def queue_stats(self, queue: str, cap: int | None) -> Plan[QueueStats]:
        """Tell how a queue stands; count no further than `cap` of each."""
        ...

    def counters(self, queue: str) -> Plan[Counters]:
        """Read what all processes counted of a queue."""
        ...

    def inspect(self, queue: str, id: int | None, key: str | None) -> Plan[Inspection | None]:
        """Read a message by id, or a live one by key, and what stands between it and a consumer."""
        ...

    def count(self, queue: str) -> Plan[dict[str, int]]:
        """Count the queue's messages by status; a status without any may be missing."""
        ...

    def tally(
        self,
        queue: str,
        where: Condition | None,
        by: Path | None,
        limit: int | None,
        indexed: tuple[Indexed, ...] = (),
    ) -> Plan[Tally]:
        """Count the messages of which a condition holds, by the value at a path; at most `limit` and one more.

        Args:
            queue: whose messages.
            where: the condition; None: all.
            by: the path; None: all are counted as one.
            limit: see above; None: count all.
            indexed: as in `Query`.
        """
        ...

    def settings(self, queue: str | None = None) -> Plan[list[QueueSettings]]:
        """Read what is said of a queue, or of all of which something is said, in the order of their names."""
        ...

    def queues(self, past: bool = False) -> Plan[list[str]]:
        """List the names of the queues that have messages, in their order.

        With `past` also those that have none any more, and of which turns, keys or counts are kept.
        """
        ...

    def consumers(self) -> Plan[list[Consumer]]:
        """Read the consumers that are noted, in the order of their names; some may be gone by now."""
        ...

    def next_due(
        self, queues: Sequence[str], until: timedelta, kinds: Mapping[str, Collection[str]] | None = None
    ) -> Plan[timedelta | None]:
        """Note that a consumer of these queues sleeps for up to `until`, so that pushes wake it.

        With zero nobody sleeps, and the answer is relied on: everything that is committed counts. Otherwise what was
        committed long after it was pushed may be passed over, for who sleeps looks again.

        Returns how long from now until the next message of them is due (zero or less: now), None if there is none.
        Leased ones count: they are due at the end of their lease. Of a queue that `kinds` names, no other kinds count.
        """
        ...

    def schedules(self, name: str | None = None, due: bool = False) -> Plan[SchedulesFound]:
        """Read the schedules: all, that of a name, or up to 100 that are due, those first that are due the longest.

        All are read in the order of their names.
        """
        ...

    def pipelines(self, name: str | None = None) -> Plan[list[StoredPipeline]]:
        """Read the pipelines that are kept in the order of their names, or that of a name alone."""
        ...

    # The tables.

    def check(self) -> Plan[None]:
        """Raise SchemaOutdated or SchemaNewer unless the tables are those of this version."""
        ...

    def migrate(self) -> Plan[list[str]]:
        """Bring the tables up to this version; return the names of the migrations made now. Safe when many call it."""
        ...

    def migration_sql(self) -> str:
        """Return what `migrate` would run on an empty database, as text for whoever may run it."""
        ...

    def roles_sql(self, names: Mapping[str, str]) -> str:
        """Return what grants roles their rights on the tables, as text for whoever may run it.

        Args:
            names: what the roles `producer`, `consumer`, `operator` and `reader` are called in the database; one that
                is not among them is called by the prefix and that word.

        Raises:
            ConfigurationError: a name cannot be one.
            NotSupported: the database has no roles, or has them by other means than statements.
        """
        ...
