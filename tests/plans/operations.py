"""What is asked of a store beside the crowd: how many messages each time, and by which indexes it finds them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from duerow.conditions.model import Compare, Condition
from duerow.message import LIVE, OnDuplicate
from duerow.plan import Plan
from duerow.reservation import Receipt
from duerow.store import (
    Buried,
    Change,
    Committed,
    Counted,
    Entry,
    Moved,
    Order,
    Query,
    Record,
    Released,
    Retention,
    RolledBack,
    Scan,
    Totals,
    Turn,
)
from duerow.stores.sql.plans.store import SqlStore
from duerow.where import field
from tests.plans.bulk_rows import CONSUMER, GROUPS, LETTERS, QUEUE

MINUTE: Final = timedelta(minutes=1)
KEEPING: Final = Retention(history=timedelta(days=1), keys=timedelta(days=1))
NOW: Final = datetime.now(UTC)

DUE, HEADS, RESTING, STOPPED, KEY, GROUP, TURN, ID = "due", "heads", "resting", "stopped", "key", "group", "turn", "id"
LINES: Final = {DUE, HEADS}
HELD: Final = Compare(("leased_by",), "=", "c")
TAKING: Final = {*LINES, ID, GROUP, TURN}


@dataclass(frozen=True)
class Leased:
    """Messages that are in a consumer's hands, and others that are named: what operations are about.

    Attributes:
        receipts: of messages that are leased, a third of them with keys.
        grouped: of messages that are leased, each of a group in which another one is behind it.
        head: of the message before which nobody of the large group has its turn.
        last: the last message of that group.
        ready: some that are due.
    """

    receipts: list[Receipt]
    grouped: list[tuple[Receipt, str]]
    head: Receipt
    last: int
    ready: list[Record]


@dataclass(frozen=True)
class Operation:
    """One thing that is asked of a store.

    Attributes:
        name: what it is called in tests.
        plan: what is asked.
        count: how many messages it is about.
        indexes: those of the table of messages by which it may look; `ID` is the primary key.
        sorts: why something is sorted; None: nothing is.
    """

    name: str
    plan: Callable[[SqlStore, Leased], Plan[Any]]
    count: int
    indexes: set[str]
    sorts: str | None = None


def entry(key: str | None = None, group: str | None = None, priority: int = 0, queue: str = QUEUE) -> Entry:
    """A message to be pushed."""
    return Entry(queue, key, "json", "{}", None, None, None, group, priority)


def push(mode: OnDuplicate, *entries: Entry) -> Callable[[SqlStore, Leased], Plan[Any]]:
    """Push these."""
    return lambda store, leased: store.messages.push(entries, mode)


def reserve(queue: str, count: int) -> Callable[[SqlStore, Leased], Plan[Any]]:
    """Lend so many."""
    return lambda store, leased: store.messages.reserve(queue, count, MINUTE, 20, "host:1:w/other")


def settle(end: Any, count: int) -> Callable[[SqlStore, Leased], Plan[Any]]:
    """End so many turns in one way."""
    return lambda store, leased: store.messages.settle([Turn(receipt, end) for receipt in leased.receipts[:count]])


def find(query: Query) -> Callable[[SqlStore, Leased], Plan[Any]]:
    """Read messages."""
    return lambda store, leased: store.messages.find(query)


def scan(query: Scan) -> Callable[[SqlStore, Leased], Plan[Any]]:
    """Go through messages, or turns that are over."""
    return lambda store, leased: store.bulk.scan(query)


def moved(key: str | None = None) -> Moved:
    """To another queue."""
    return Moved("billing", None, None, key, None, None, None, "reject")


def settled_one_by_one(store: SqlStore, leased: Leased) -> Plan[Any]:
    """Moves with keys, of which each has its own."""
    turns = [Turn(receipt, moved(f"own-{receipt.id}")) for receipt in leased.receipts[:20]]
    return store.messages.settle(turns)


def settled_in_groups(store: SqlStore, leased: Leased) -> Plan[Any]:
    """Commits that let the next of each group have its turn."""
    return store.messages.settle(
        [Turn(receipt, Committed(), (GROUPS, group)) for receipt, group in leased.grouped[:50]]
    )


def changed(**what: Any) -> Callable[[SqlStore, Leased], Plan[Any]]:
    """Change messages that are due."""

    def plan(store: SqlStore, leased: Leased) -> Plan[Any]:
        changes = [Change(record, **what) for record in leased.ready[:50]]
        return store.operations.change(QUEUE, changes, even_if_leased=False, dry_run=False)

    return plan


def published(store: SqlStore, leased: Leased) -> Plan[Any]:
    """Stage what comes of messages that a claim holds, read these in two ways, and publish it as they end."""
    receipts = leased.receipts[:200]
    held = yield from store.bulk.leased_range(QUEUE, CONSUMER, receipts[0].id, receipts[-1].id, 200)
    outlines = yield from store.bulk.message_headers(QUEUE, receipts)
    assert len(held) == len(outlines) == len(receipts)
    yield from store.bulk.stage("batch", "part", [entry(queue="billing") for _ in receipts])
    yield from store.bulk.stage("batch", "another", [entry(f"k-{n}", queue="billing") for n in range(20)])
    turns = [Turn(receipt, Committed()) for receipt in receipts]
    return (yield from store.bulk.publish("batch", {"part": 200, "another": 20}, turns, once="batch"))


def page(order: Order, where: Condition | None = None) -> Query:
    """A page of a queue in which messages of several kinds are."""
    return Query(LETTERS, where=where, order=order, limit=50)


READY: Final = field("status").in_(LIVE) & (field("due_at") <= NOW)
LIVE_PARTS: Final = {*LINES, GROUP, STOPPED, ID}
PARTS: Final = {*LINES, GROUP, RESTING, ID}
FIRST_ROWS: Final = "of the first rows of each index, of which there are no more than are asked for"

KEYS: Final = [entry(f"k-{10 * number}") for number in range(1, 21)] + [entry(f"new-{number}") for number in range(20)]
BOUND_ROWS: Final = "of the rows that are given, which are locked in the order of their keys"
FOUND_ROWS: Final = "of the rows that were found, of which there are no more than are asked for"

OPERATIONS: Final = [
    # Push.
    Operation("push", push("ignore", entry()), 1, set()),
    Operation("push of a priority", push("ignore", entry(priority=7)), 1, set()),
    Operation("push of a key that is free", push("ignore", entry("free")), 1, set()),
    Operation("push of a key that is taken", push("ignore", entry("k-10")), 1, {KEY}),
    Operation("push that replaces", push("replace", entry("k-10")), 1, {KEY, ID}, BOUND_ROWS),
    Operation("push that hastens", push("earliest", entry("k-10")), 1, {KEY, ID}, BOUND_ROWS),
    Operation("push that is refused where a key is taken", push("reject", entry("free")), 1, {KEY}, BOUND_ROWS),
    Operation("push into a group", push("ignore", entry(group="big")), 1, set()),
    Operation("push of many", push("ignore", *[entry()] * 200), 200, set()),
    Operation("push of many with keys", push("ignore", *KEYS), 40, {KEY}, BOUND_ROWS),
    Operation("push of many that replace", push("replace", *KEYS), 40, {KEY, ID}, BOUND_ROWS),
    Operation("push of many into groups", push("ignore", *(entry(group=f"g-{n % 9}") for n in range(60))), 60, {GROUP}),
    # Take.
    Operation(
        "reserve of one",
        lambda store, _: store.messages.reserve(QUEUE, 1, MINUTE, 20, "c"),
        1,
        {*LINES, ID, GROUP, TURN},
    ),
    Operation(
        "reserve", lambda store, _: store.messages.reserve(QUEUE, 200, MINUTE, 20, "c"), 200, {*LINES, ID, GROUP, TURN}
    ),
    Operation(
        "reserve of some kinds",
        lambda store, _: store.messages.reserve(QUEUE, 200, MINUTE, 20, "c", kinds=("json", "bytes")),
        200,
        {*LINES, ID, GROUP, TURN},
    ),
    Operation(
        "reserve of groups",
        lambda store, _: store.messages.reserve(GROUPS, 200, MINUTE, 20, "c"),
        200,
        {*LINES, ID, GROUP, TURN},
    ),
    Operation(
        "reserve where nothing is",
        lambda store, _: store.messages.reserve("empty", 9, MINUTE, 20, "c"),
        0,
        {*LINES, ID},
    ),
    Operation("pop", lambda store, _: store.messages.pop(QUEUE, 20), 20, {*LINES, ID, GROUP, TURN}),
    Operation("pop of groups", lambda store, _: store.messages.pop(GROUPS, 20), 20, {*LINES, ID, GROUP, TURN}),
    Operation("idle", lambda store, _: store.messages.next_due([QUEUE, GROUPS], MINUTE), 3, LINES, "of the two queues"),
    Operation(
        "idle without claims",
        lambda store, _: store.messages.next_due([QUEUE, GROUPS], MINUTE, relied_on=True),
        3,
        LINES,
        "of the two queues",
    ),
    Operation("lend", lambda store, _: store.bulk.lend(QUEUE, 200, MINUTE, 20, "c"), 200, TAKING),
    Operation("lend of groups", lambda store, _: store.bulk.lend(GROUPS, 200, MINUTE, 20, "c"), 200, TAKING),
    # Settle.
    Operation("publish", published, 200, {ID, KEY}),
    Operation("commit", settle(Committed(), 200), 200, {ID}),
    Operation(
        "commit into a history",
        lambda store, leased: store.messages.settle([Turn(one, Committed()) for one in leased.receipts[:200]], KEEPING),
        200,
        {ID},
        BOUND_ROWS,
    ),
    Operation("prune", lambda store, _: store.history.prune(100), 100, set()),
    Operation("commit of one", settle(Committed(), 1), 1, {ID}),
    Operation("commit and push", settle(Committed((entry(),)), 20), 20, {ID}),
    Operation("commit in groups", settled_in_groups, 50, {ID, GROUP}),
    Operation("roll back", settle(RolledBack(MINUTE, '{"message":"no"}'), 200), 200, {ID}),
    Operation("bury", settle(Buried('{"message":"no"}'), 200), 200, {ID}),
    Operation("release", settle(Released(NOW), 200), 200, {ID}),
    Operation("move", settle(moved(), 200), 200, {ID}),
    Operation("move with keys", settled_one_by_one, 20, {ID, KEY}, BOUND_ROWS),
    Operation("extend", lambda store, leased: store.messages.extend(leased.receipts[:200], MINUTE), 200, {ID}),
    Operation(
        "commit of the head of a large group",
        lambda store, leased: store.messages.settle([Turn(leased.head, Committed(), (QUEUE, "big"))]),
        1,
        {ID, GROUP},
    ),
    # Look.
    Operation(
        "find by id", lambda store, leased: store.messages.find(Query(QUEUE, ids=(leased.last,))), 1, {ID}, FOUND_ROWS
    ),
    Operation("find by key", find(Query(QUEUE, keys=("k-10",), statuses=LIVE)), 1, {KEY}, FOUND_ROWS),
    Operation("find a page", find(Query(QUEUE, after_id=10, by_id=True, limit=100)), 100, {ID}),
    Operation(
        "find by key among few", find(Query("few", keys=("k",), statuses=LIVE, by_id=True)), 1, {KEY}, FOUND_ROWS
    ),
    Operation("a page by due time", find(page(Order("due_at"))), 150, PARTS, FIRST_ROWS),
    Operation(
        "a page by due time, from the last", find(page(Order("due_at", descending=True))), 150, PARTS, FIRST_ROWS
    ),
    Operation("the next page by due time", find(page(Order("due_at", after=(NOW, 1)))), 150, PARTS, FIRST_ROWS),
    Operation(
        "the next page from the last",
        find(page(Order("due_at", descending=True, after=(NOW, 1)))),
        150,
        PARTS,
        FIRST_ROWS,
    ),
    Operation("a page of what is ready", find(page(Order("due_at"), READY)), 50, LIVE_PARTS, FIRST_ROWS),
    Operation(
        "a page of what was ready last", find(page(Order("due_at", descending=True), READY)), 50, LIVE_PARTS, FIRST_ROWS
    ),
    Operation("a page of what is at rest", find(page(Order("due_at", after=(None, 1)))), 50, PARTS, FIRST_ROWS),
    Operation("the newest of all queues", find(Query("billing", order=Order(descending=True), limit=50)), 50, {ID}),
    Operation("a page of a scan", scan(Scan(queues=(QUEUE,), after=(10, 0), limit=100)), 100, {ID}),
    Operation("a page of what a claim holds", scan(Scan(where=HELD, after=(10, 0), last=110)), 100, {ID}),
    Operation("the last of a scan", scan(Scan(descending=True, limit=1)), 1, {ID}),
    Operation("a page of a scan of turns", scan(Scan(turns=True, queues=(QUEUE, "mail"), limit=100)), 100, set()),
    Operation("peek", lambda store, _: store.operations.peek(QUEUE, 100), 100, {*LINES, GROUP, TURN}),
    Operation("peek of groups", lambda store, _: store.operations.peek(GROUPS, 100), 100, {*LINES, GROUP, TURN}),
    Operation("the queues", lambda store, _: store.operations.queues(), 4, {*LINES, GROUP, KEY, RESTING, TURN}),
    Operation(
        "how a queue stands",
        lambda store, _: store.operations.queue_stats(QUEUE, 101),
        101,
        {*LINES, GROUP, RESTING, STOPPED},
        "of what was counted, of which there is no more than the cap",
    ),
    Operation("what was counted", lambda store, _: store.counters.read(QUEUE), 1, set()),
    Operation(
        "why the last of a large group waits",
        lambda store, leased: store.operations.inspect(QUEUE, leased.last, None),
        1,
        {ID, GROUP, TURN, RESTING, STOPPED},
        FOUND_ROWS,
    ),
    # Change.
    Operation("edit", changed(payload="1", kind="json"), 50, {ID, GROUP}, FOUND_ROWS),
    Operation("reschedule", changed(due=NOW), 50, {ID, GROUP}, FOUND_ROWS),
    Operation("requeue", changed(delay=timedelta(0), anew=True), 50, {ID, GROUP}, FOUND_ROWS),
    Operation(
        "remove",
        lambda store, leased: store.operations.remove(
            QUEUE, [record.id for record in leased.ready[:20]], ["k-10"], False
        ),
        21,
        {ID, KEY, GROUP},
        FOUND_ROWS,
    ),
    # Queues, consumers, schedules.
    Operation("pause", lambda store, _: store.metadata.put_settings(QUEUE, paused=True), 1, set()),
    Operation(
        "note of a consumer", lambda store, _: store.metadata.note_consumer("h:1:w", [QUEUE], ["json"], "1"), 1, set()
    ),
    Operation(
        "note of what was counted",
        lambda store, _: store.counters.note_counts("h:1", [Counted(QUEUE, NOW, Totals(1), None, None)]),
        1,
        set(),
    ),
    Operation("the schedules that are due", lambda store, _: store.metadata.schedules(due=True), 1, set()),
]
"""All that workers and producers ask for, and what operators ask for every day.

Not here are purges, conditions and pages of the dead: they look at as much as there is, or may.
"""
