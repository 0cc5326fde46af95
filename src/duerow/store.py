"""What a store is: a few writes and a few general reads as plans, and two ways to reach its server.

A store knows nothing of codecs, retry policies or handlers: it is handed encoded text and decided turns. Its plans
yield steps that only its own connections understand (see `duerow.plan`). Every store keeps the same promises,
proven by one conformance suite.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Literal, Protocol

import msgspec
from msgspec import UNSET, UnsetType

from duerow.clock import Clock
from duerow.errors import ConfigurationError, DuerowError
from duerow.message import Ending, OnDuplicate, Pushed, Status
from duerow.plan import AsyncExecute, Execute, Plan
from duerow.reservation import Receipt
from duerow.where import Condition, Path


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
    """

    transactions: bool = True
    within: bool = True
    processes: bool = True
    hosts: bool = True
    parallel_writes: bool = True
    wakes_consumers: bool = True


IndexKind = Literal["integer", "float", "text", "boolean"]


class Indexed(msgspec.Struct, frozen=True, gc=False):
    """A payload field of a queue that is served by an index.

    Attributes:
        path: the names that lead to it, each of ASCII letters, digits, `_` and `-`.
        kind: which values the index holds; integers and floats are numbers alike.
    """

    path: Path
    kind: IndexKind


class Entry(msgspec.Struct, frozen=True, gc=False):
    """A message to be pushed, encoded. At most one of `due` and `delay` is given; neither: due at once."""

    queue: str
    key: str | None
    kind: str
    payload: str
    headers: str | None
    due: datetime | None
    delay: timedelta | None
    group: str | None = None
    priority: int = 0


class Record(msgspec.Struct, frozen=True, gc=False):
    """A message as it is kept, with payload, headers and last error as JSON text; fields as in `Message`.

    The due time of one that waits behind others of its group is its own.
    """

    id: int
    queue: str
    payload: str
    kind: str
    key: str | None
    headers: str | None
    group: str | None
    priority: int
    status: Status
    due_at: datetime | None
    first_due_at: datetime
    attempts: int
    token: int
    leased_by: str | None
    leased_until: datetime | None
    created_at: datetime
    last_attempt_at: datetime | None
    last_error: str | None


class Reserved(msgspec.Struct, frozen=True, gc=False):
    """What a reserve lent: records oldest first, with `due_at` as it was in line; and how many were buried instead."""

    records: list[Record]
    buried: int


class Committed(msgspec.Struct, frozen=True, gc=False):
    """The message leaves the queue.

    Attributes:
        then: pushed in the same transaction.
        payload, kind: what history is to keep as its payload; None: the one that it has.
        dropped: history calls it dropped, not done.
        why: what history is to say of it, as `codec.encode_failure` writes it.
    """

    then: tuple[Entry, ...] = ()
    payload: str | None = None
    kind: str | None = None
    dropped: bool = False
    why: str | None = None


class RolledBack(msgspec.Struct, frozen=True, gc=False):
    """The attempt failed: status `error`, due at now + delay; None keeps the error that is recorded."""

    delay: timedelta
    error: str | None


class Buried(msgspec.Struct, frozen=True, gc=False):
    """Given up: status `dead`, no due time; None keeps the error that is recorded."""

    error: str | None


class Released(msgspec.Struct, frozen=True, gc=False):
    """Not started: due again at `due_at`, its place before the reservation, with one attempt less."""

    due_at: datetime


class Moved(msgspec.Struct, frozen=True, gc=False):
    """The message goes to another queue: attempts 0, status `new`, no error, no lease.

    Attributes:
        to: the queue to go to.
        payload: the new payload, with its kind; None: unchanged.
        kind: the new payload's kind; None: unchanged.
        key: the key that it has there.
        headers: all headers that it has there, the hop count included.
        due, delay: when it is due there; neither: at once. The first due time becomes the same.
        on_duplicate: what to do if another live message holds the key in the target. "reject" refuses this turn with
            DuplicateKey; "ignore" ends this message as done; "replace" and "earliest" change the message that
            holds the key as a push would, and end this one as done.
        group: the group that it is in there.
        priority: the priority that it has there.
        dead: it was given up, and goes to a dead-letter queue.
        error: why, for the history of the queue that it leaves.
    """

    to: str
    payload: str | None
    kind: str | None
    key: str | None
    headers: str | None
    due: datetime | None
    delay: timedelta | None
    on_duplicate: OnDuplicate
    group: str | None = None
    priority: int = 0
    dead: bool = False
    error: str | None = None


class Joined(msgspec.Struct, frozen=True, gc=False):
    """The message leaves its queue and becomes a part of a set; a set that is complete becomes a message of its parts.

    While its parts are still to come, a set stands as a message in the queue `sets`, due at its deadline, with the
    payload `duerow.parts.open_text`. When it is complete that message gets the payload `duerow.parts.whole_text`, is
    due at once and as good as new. Whatever arrives at once, a part is in one set, and a set becomes whole once.

    Attributes:
        sets: the queue where the sets stand.
        correlation: which set; sets of one queue and correlation follow one another.
        within: how long after its first part a set is due, whole or not.
        limit: how many parts a set has at most.
        full: how the turn ends if the set has so many and is not complete.
        count: with so many parts a set is complete.
        complete: told the parts of the set, this one included, says whether it is complete. Called in the transaction;
            if it raises a DuerowError, this turn is refused with that error.
        late: how the turn ends if its set was complete before; None: a new set begins.
        remember: for how long it is known that a set was complete, if there is `late`.
    """

    sets: str
    correlation: str
    within: timedelta
    limit: int
    full: End
    count: int | None = None
    complete: Callable[[Sequence[str]], bool] | None = None
    late: End | None = None
    remember: timedelta = timedelta(0)


class Closed(msgspec.Struct, frozen=True, gc=False):
    """The message of a set is due: it becomes a message of the parts that have come, due at once and as good as new.

    Attributes:
        sets: the queue of the message, where the sets stand.
        correlation: which set.
        remember: for how long it is known that the set was complete; None: the next part begins a new one.
    """

    sets: str
    correlation: str
    remember: timedelta | None


End = Committed | RolledBack | Buried | Released | Moved | Joined | Closed


class Turn(msgspec.Struct, frozen=True, gc=False):
    """A reservation's receipt and how its turn ends.

    Attributes:
        group: the queue and the group that it was lent from, if it is in one: the next of them may have its turn.
    """

    receipt: Receipt
    end: End
    group: tuple[str, str] | None = None


class Refused(msgspec.Struct, frozen=True):
    """A receipt that was refused, and why.

    LeaseLost, DuplicateKey for a move whose key is taken, or what a join's predicate raised.
    """

    receipt: Receipt
    error: DuerowError


class Keeping(msgspec.Struct, frozen=True, gc=False):
    """What a queue keeps of messages that are over, as its handle declares it.

    Attributes:
        history: how long its turns are kept; None: they are not.
        keys: how long the keys of messages that left are remembered; None: they are not.
    """

    history: timedelta | None = None
    keys: timedelta | None = None


class Past(msgspec.Struct, frozen=True, gc=False):
    """A turn that is over, with payload, headers and error as JSON text; fields as in `duerow.history.Event`."""

    id: int
    token: int
    queue: str
    key: str | None
    kind: str
    payload: str
    headers: str | None
    group: str | None
    priority: int
    outcome: Ending
    moved_to: str | None
    attempts: int
    created_at: datetime
    first_due_at: datetime
    due_at: datetime
    started_at: datetime
    finished_at: datetime
    worker: str | None
    error: str | None

    @property
    def place(self) -> PlaceInHistory:
        """Where it stands in the order of history."""
        return self.finished_at, self.id, self.token


PlaceInHistory = tuple[datetime, int, int]
"""A place in the history of a queue: when a turn finished, its message's id and its token."""


class PastQuery(msgspec.Struct, frozen=True, gc=False):
    """Which turns of a queue's history to read; all that is given must hold.

    Attributes:
        id: only those of this message.
        ends: only those after which the message left the queue or was dead.
        where: only those of which this holds.
        oldest_first: in the order in which they finished, else in the opposite one.
        after: only those behind this place in that order.
        until: no later ones than this place.
        limit: at most so many.
    """

    queue: str
    id: int | None = None
    ends: bool = False
    where: Condition | None = None
    oldest_first: bool = False
    after: PlaceInHistory | None = None
    until: PlaceInHistory | None = None
    limit: int = 100


class Order(msgspec.Struct, frozen=True, gc=False):
    """In which order to read messages, and where to begin.

    Attributes:
        field: a message field, one of `duerow.where.FIELDS`; messages that have none come last in both directions,
            equal ones in the order of their ids.
        descending: the largest first, equal ones by descending id.
        after: the field's value and the id of the message behind which to begin.
    """

    field: str = "id"
    descending: bool = False
    after: tuple[Any, int] | None = None


class Query(msgspec.Struct, frozen=True, gc=False):
    """Which messages of a queue to read; all that is given must hold.

    Attributes:
        ids, keys, statuses: only these.
        after_id: only those with a higher id; goes with `by_id`.
        by_id: in the order of id, else in the order in which they would be handed out (stopped ones last).
        limit: at most so many.
        where: only those of which this holds.
        order: in this order instead.
        locked: as they are until the transaction ends: nobody else changes them meanwhile.
        indexed: the payload fields that have an index, which a condition may be served by; what is found is the same.
    """

    queue: str
    ids: tuple[int, ...] | None = None
    keys: tuple[str, ...] | None = None
    statuses: tuple[Status, ...] | None = None
    after_id: int | None = None
    by_id: bool = False
    limit: int = 100
    where: Condition | None = None
    order: Order | None = None
    locked: bool = False
    indexed: tuple[Indexed, ...] = ()


class Change(msgspec.Struct, frozen=True, gc=False):
    """What becomes of one message; what is UNSET stays.

    Attributes:
        record: the message as it was read; its token is the fence.
        payload, kind: its content, always both.
        headers: all its headers.
        priority: its priority.
        due: when it is due; None: never, it is stopped.
        delay: instead of `due`, how long from now until it is due.
        anew: attempts 0, status `new`, no error, no last attempt.
    """

    record: Record
    payload: str | UnsetType = UNSET
    kind: str | UnsetType = UNSET
    headers: str | UnsetType | None = UNSET
    priority: int | UnsetType = UNSET
    due: datetime | UnsetType | None = UNSET
    delay: timedelta | UnsetType = UNSET
    anew: bool = False

    @property
    def receipt(self) -> Receipt:
        """The message, and the token with which it was read."""
        return Receipt(self.record.id, self.record.token)

    @property
    def revives(self) -> bool:
        """Whether it brings a dead message back to life."""
        return self.record.status == "dead" and (isinstance(self.due, datetime) or self.delay is not UNSET)


Tally = list[tuple[Any, int]]
"""Values and how many messages have each; lists and objects as they are decoded, None for missing ones and null.

Equal values may come more than once. Without a path the value is None."""


class Removal(msgspec.Struct, frozen=True, gc=False):
    """What a remove did: the ids that are gone, and those left because a lease on them runs, with their holders."""

    removed: list[int]
    leased: list[tuple[int, str]]


class Planned(msgspec.Struct, frozen=True, gc=False):
    """A schedule as it is kept.

    Attributes:
        name: what it is called; unique.
        definition: what it is to do, as JSON text that the store does not read.
        next_at: when it ticks next; None: never again.
        last_at: the last tick that became a message; None: none did.
        version: a number that is another after every change.
    """

    name: str
    definition: str
    next_at: datetime | None
    last_at: datetime | None
    version: int


class SchedulesFound(msgspec.Struct, frozen=True, gc=False):
    """Schedules as they were read, the store's time at that moment, and when the next of all ticks is or was."""

    now: datetime
    next_at: datetime | None
    rows: list[Planned]


class ScheduleChange(msgspec.Struct, frozen=True, gc=False):
    """What becomes of a schedule, and what it pushes in the same transaction.

    Attributes:
        name: the schedule.
        version: it is changed only while it has this version; None: only if there is none of this name.
        after: what it becomes; None: it is removed.
        push: the messages of its ticks; they have no keys.
    """

    name: str
    version: int | None
    after: Planned | None
    push: tuple[Entry, ...] = ()


class Charted(msgspec.Struct, frozen=True, gc=False):
    """A pipeline as it is kept.

    Attributes:
        name: what it is called; unique.
        definition: its stations, as JSON text that the store does not read.
        version: a number that is another after every change.
    """

    name: str
    definition: str
    version: int


class Consumer(msgspec.Struct, frozen=True, gc=False):
    """A consumer that said that it is there.

    Attributes:
        name: host:pid:worker.
        queues: what it consumes.
        kinds: the kinds of payloads that it knows.
        version: its duerow's version.
        seen_at: when it said so last.
    """

    name: str
    queues: tuple[str, ...]
    kinds: tuple[str, ...]
    version: str
    seen_at: datetime


class Inspection(msgspec.Struct, frozen=True, gc=False):
    """A message and what stands between it and a consumer.

    Attributes:
        now: the time.
        record: the message.
        blocker: the message of its group that has to leave first; None: none has to.
        paused: whether its queue is paused.
        consumers: all consumers that are known, of whatever queue.
    """

    now: datetime
    record: Record
    blocker: Record | None
    paused: bool
    consumers: list[Consumer]


class Said(msgspec.Struct, frozen=True, gc=False):
    """What is said of a queue.

    Attributes:
        queue: its name.
        definition: what was declared of it, as JSON text that the store does not read; None: nothing was.
        paused: whether it hands nothing out.
        draining: whether it takes no new messages.
    """

    queue: str
    definition: str | None
    paused: bool
    draining: bool


class Indexing(msgspec.Struct, frozen=True, gc=False):
    """What became of a queue's indexes of payload fields: the names of those made, and of those taken away."""

    created: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()


class Standing(msgspec.Struct, frozen=True, gc=False):
    """How a queue stands, as numbers of its messages by what they wait for, each counted up to a cap.

    Attributes:
        ready, delayed, leased, waiting, stopped, dead: as in `duerow.watching.Stats`.
        oldest_due_at, next_due_at: likewise.
        paused: whether it is paused.
    """

    ready: int
    delayed: int
    leased: int
    waiting: int
    stopped: int
    dead: int
    oldest_due_at: datetime | None
    next_due_at: datetime | None
    paused: bool


class Totals(msgspec.Struct, frozen=True, gc=False):
    """How many turns ended, by how they ended.

    Attributes:
        done: the message was done.
        failed: the attempt failed, and the message is tried again.
        dead: the message was given up: in place, or into a queue of dead letters.
        moved: the message went to another queue.
    """

    done: int = 0
    failed: int = 0
    dead: int = 0
    moved: int = 0


class Counted(msgspec.Struct, frozen=True, gc=False):
    """What one process counted of one queue in one minute.

    Attributes:
        queue: the queue.
        minute: when that minute began.
        totals: how turns ended.
        waiting, handling: how long messages had been due when they were handed out, and how long handlers took, as
            JSON text that the store does not read; None: nothing was counted.
    """

    queue: str
    minute: datetime
    totals: Totals
    waiting: str | None
    handling: str | None


class Counters(msgspec.Struct, frozen=True, gc=False):
    """What all processes counted of a queue.

    Attributes:
        now: the time.
        lifetime: all that was ever counted.
        lately: what was counted in the minutes of the last hour, in no order.
    """

    now: datetime
    lifetime: Totals
    lately: list[Counted]


class Store(Protocol):
    """The contract. Every method returns a plan; a plan of several steps yields BEGIN first.

    Every write is fenced by (id, token); a turn whose receipt does not match changes nothing and is refused.
    Time is the database server's, or the clock given when the store was opened.
    """

    capabilities: Capabilities

    # Writes.

    def push(self, entries: Sequence[Entry], on_duplicate: OnDuplicate, remembered: bool = False) -> Plan[list[Pushed]]:
        """Add messages; the answer of each in the order given, also for keys that occur twice. Ids follow that order.

        With `remembered` a key that is remembered is taken: ignored in every mode but "reject", with the id of the
        message that held it.

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
        keep: Keeping | None = None,
    ) -> Plan[Reserved]:
        """Lend up to `limit` due messages until now + lease, first by (priority, due time, id), none to two consumers.

        Of a group only the live message with the lowest id, and while no other of the group is leased.
        Each row's attempts and token grow by one, `leased_by` becomes `consumer`. A row that still carries an
        unsettled lease has that recorded as its last error; if it has used up its `attempts` it is buried instead
        and does not count towards the limit: in place, or in the queue that `dead_letter` names. Of what is kept, such
        a lease is a failed turn, and of a message that is buried a dead one.
        """
        ...

    def extend(self, receipts: Sequence[Receipt], lease: timedelta) -> Plan[dict[Receipt, datetime]]:
        """Let the leases run until now + lease under the same tokens; return the new ends of those still ours."""
        ...

    def settle(self, turns: Sequence[Turn], keep: Keeping | None = None) -> Plan[list[Refused]]:
        """End turns, all in one transaction where the store has them; return those that were refused.

        What is to be kept of the others is written in the same transaction: each turn but a released one with the
        receipt as its key, and the keys of messages that are done, dead or moved.

        Raises:
            NotSupported: a turn needs a transaction over several messages and the store has none.
        """
        ...

    def pop(self, queue: str, limit: int, keep: Keeping | None = None) -> Plan[list[Record]]:
        """Take up to `limit` due messages out of the queue, as `reserve` would; each counts one more attempt.

        Of what is kept each is a turn that is done, with the token that a reservation would have had.
        """
        ...

    def remove(
        self, queue: str, ids: Sequence[int], keys: Sequence[str], even_if_leased: bool, keep: Keeping | None = None
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

    def set_pipeline(self, name: str, version: int | None, after: Charted | None) -> Plan[bool]:
        """Keep a pipeline as it is `after`, None: no longer; False: it has another version by now, nothing changed.

        A version of None means that there is none of this name yet.
        """
        ...

    def say(
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

    def purge(self, queue: str, limit: int) -> Plan[int]:
        """Take up to `limit` messages out of the queue, whatever they are; return how many."""
        ...

    def prune(self, limit: int) -> Plan[int]:
        """Take away up to `limit` turns and as many keys whose time is over, of all queues; return how many."""
        ...

    # Reads.

    def find(self, query: Query) -> Plan[list[Record]]:
        """Read messages without taking them."""
        ...

    def history(self, query: PastQuery) -> Plan[list[Past]]:
        """Read turns that are over."""
        ...

    def peek(self, queue: str, limit: int) -> Plan[list[Record]]:
        """Read up to `limit` messages that `reserve` would lend, in its order; of a group the one whose turn it is."""
        ...

    def standing(self, queue: str, cap: int | None) -> Plan[Standing]:
        """Tell how a queue stands; count no further than `cap` of each."""
        ...

    def counters(self, queue: str) -> Plan[Counters]:
        """Read what all processes counted of a queue."""
        ...

    def inspect(self, queue: str, id: int | None, key: str | None) -> Plan[Inspection | None]:
        """Read a message by id, or a live one by key, and what stands between it and a consumer."""
        ...

    def count(self, queue: str) -> Plan[dict[Status, int]]:
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

    def said(self, queue: str | None = None) -> Plan[list[Said]]:
        """Read what is said of a queue, or of all of which something is said, in the order of their names."""
        ...

    def queues(self) -> Plan[list[str]]:
        """List the names of the queues that have messages."""
        ...

    def idle(self, queues: Sequence[str], until: timedelta) -> Plan[timedelta | None]:
        """Note that a consumer of these queues sleeps for up to `until`, so that pushes wake it.

        With zero nobody sleeps, and the answer is relied on: everything that is committed counts. Otherwise what was
        committed long after it was pushed may be passed over, for who sleeps looks again.

        Returns how long from now until the next message of them is due (zero or less: now), None if there is none.
        Leased ones count: they are due at the end of their lease.
        """
        ...

    def schedules(self, name: str | None = None, due: bool = False) -> Plan[SchedulesFound]:
        """Read the schedules: all, that of a name, or up to 100 that are due, those first that are due the longest.

        All are read in the order of their names.
        """
        ...

    def pipelines(self, name: str | None = None) -> Plan[list[Charted]]:
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


class Listener(Protocol):
    """Hears of pushes, so that a consumer need not poll often; hearing nothing proves nothing."""

    def wait(self, timeout: float) -> bool:
        """Wait at most so many seconds; True as soon as something may have become due."""
        ...

    def wake(self) -> None:
        """End a running `wait` from another thread."""
        ...

    def close(self) -> None:
        """Give back what listening holds."""
        ...


TransactionState = Literal["open", "committed", "rolled back"]


class OwnTransaction(Protocol):
    """A transaction that a handler writes in, and that its worker ends.

    Attributes:
        connection: what the handler is given, and what `join` takes: an SQLAlchemy Connection.
    """

    connection: Any

    def look(self) -> TransactionState:
        """Tell whether the handler has left it open; "committed" also if that cannot be ruled out.

        Raises:
            DuerowError: the connection broke, or the database would not commit this transaction any more.
        """
        ...

    def commit(self) -> None:
        """Make it last, and give the connection back, whatever comes of it."""
        ...

    def roll_back(self) -> None:
        """Undo it and give the connection back; nothing if it has ended."""
        ...


class Connections(Protocol):
    """The blocking way to a store's server.

    Attributes:
        place: names the tables that it leads to; what leads to others has another one.
    """

    @property
    def place(self) -> Hashable:
        """What tells it from the way to other tables."""
        ...

    def open(self) -> AbstractContextManager[Execute]:
        """Lend a connection: its steps are committed at the end, rolled back on an exception.

        Without BEGIN each step is committed by itself where the database has such a mode.

        Raises:
            StoreUnavailable: the server cannot be reached, or broke off (outcome "unknown" if it may have acted).
        """
        ...

    def join(self, within: Any) -> Execute:
        """Use the caller's own open transaction; never begin, commit or roll back.

        Raises:
            ConfigurationError: not a connection of this store's database, or no transaction is open on it.
        """
        ...

    def begin(self) -> OwnTransaction:
        """Begin a transaction for a handler, on a connection of its own.

        Raises:
            NotSupported: the store has no such transactions (`Capabilities.within`).
            StoreUnavailable: no connection can be had.
        """
        ...

    def listen(self, queues: Sequence[str]) -> Listener:
        """Begin to hear of pushes into these queues."""
        ...

    def close(self) -> None:
        """Close all connections that are at rest."""
        ...


class AsyncListener(Protocol):
    """As Listener, awaited."""

    async def wait(self, timeout: float) -> bool:  # noqa: ASYNC109 - the twin of Listener.wait
        """Wait at most so many seconds; True as soon as something may have become due."""
        ...

    def wake(self) -> None:
        """End a running `wait` from the same loop."""
        ...

    async def close(self) -> None:
        """Give back what listening holds."""
        ...


class AsyncOwnTransaction(Protocol):
    """As OwnTransaction, awaited; the connection is an SQLAlchemy AsyncConnection."""

    connection: Any

    async def look(self) -> TransactionState:
        """As OwnTransaction.look."""
        ...

    async def commit(self) -> None:
        """As OwnTransaction.commit."""
        ...

    async def roll_back(self) -> None:
        """As OwnTransaction.roll_back."""
        ...


class AsyncConnections(Protocol):
    """The awaited way to a store's server; never blocks the loop."""

    @property
    def place(self) -> Hashable:
        """As Connections.place."""
        ...

    def open(self) -> AbstractAsyncContextManager[AsyncExecute]:
        """As Connections.open."""
        ...

    def join(self, within: Any) -> AsyncExecute:
        """As Connections.join."""
        ...

    async def begin(self) -> AsyncOwnTransaction:
        """As Connections.begin."""
        ...

    async def listen(self, queues: Sequence[str]) -> AsyncListener:
        """As Connections.listen."""
        ...

    async def close(self) -> None:
        """As Connections.close."""
        ...


@dataclass(frozen=True)
class Settings:
    """How to open a store.

    Attributes:
        clock: tells the time instead of the database; for tests.
        prefix: what the names of all tables begin with.
        schema: the database schema that holds the tables; None: the connection's default.
        options: whatever else the URL or the call says, for the store's own use.
    """

    clock: Clock | None = None
    prefix: str = "duerow_"
    schema: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.clock is not None and not callable(getattr(self.clock, "now", None)):
            raise ConfigurationError(f"clock= is an object with now(), an aware datetime, not {self.clock!r:.80}")
        if not isinstance(self.prefix, str):
            raise ConfigurationError(f"prefix= is text that begins the names of all tables, not {self.prefix!r:.80}")
        if self.schema is not None and not isinstance(self.schema, str):
            raise ConfigurationError(f"schema= is the name of a database schema, not {self.schema!r:.80}")


class Backend(Protocol):
    """A family of databases, found by the entry point of its URL scheme in the group `duerow.stores`."""

    def open(self, target: Any, settings: Settings) -> tuple[Store, Connections]:
        """Open by URL or by an engine or client of the user's own, for blocking calls."""
        ...

    def aopen(self, target: Any, settings: Settings) -> tuple[Store, AsyncConnections]:
        """Open by URL or by an engine or client of the user's own, for awaited calls."""
        ...


def find_backend(target: Any) -> Backend:
    """Return the family of databases for a URL or an engine.

    Raises:
        ConfigurationError: nothing that is installed knows this scheme, or the target is neither.
    """
    scheme = _scheme(target)
    found = _installed()
    if scheme not in found:
        known = ", ".join(f"{name}://" for name in sorted(found))
        raise ConfigurationError(f"no store for {scheme}:// is installed; known are {known}")
    try:
        backend: Backend = found[scheme].load()
    except ModuleNotFoundError as error:
        raise ConfigurationError(
            f"{scheme}:// needs the module {error.name}: pip install 'duerow[{scheme}]'"
        ) from error
    return backend


@cache
def _installed() -> dict[str, EntryPoint]:
    """Return the entry points of all stores; looked up once, since that reads the whole list of packages."""
    return {entry.name: entry for entry in entry_points(group="duerow.stores")}


def _scheme(target: Any) -> str:
    if isinstance(target, str):
        scheme, colon, _ = target.partition("://")
        if not colon:
            raise ConfigurationError(
                f"{target!r:.200} is no URL; write for example sqlite:///app.db or postgresql://user@host/base"
            )
        return scheme.partition("+")[0]
    dialect = getattr(target, "dialect", None)
    if dialect is None:
        raise ConfigurationError(f"connect() takes a URL or an SQLAlchemy Engine, not {type(target).__name__}")
    name: str = dialect.name
    return name
