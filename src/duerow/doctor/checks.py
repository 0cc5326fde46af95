"""The checks for every database: each is a generator that yields work for the database.

It yields functions that make plans, which `Database.run` executes in separate transactions, and the steps of
`duerow.doctor.steps`.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from duerow.doctor.steps import Hear, Hush, Wait
from duerow.errors import DuerowError, StoreUnavailable
from duerow.payload.codec import decode_failure
from duerow.queue.beside import KINDS
from duerow.queue.definition import readable
from duerow.queue.reserved import RESERVED, is_reserved
from duerow.queue.stats import SEEN
from duerow.reservation import Receipt
from duerow.store import ALL_IDS, Committed, Consumer, Entry, Finding, Order, Query, Record, Store, Turn
from duerow.store.consumer_id import own_version

Work = Generator[Any, Any, list[Finding]]

QUEUE: Final = f"{RESERVED}doctor"
"""The queue in which the doctor pushes, hears about, claims and settles a message."""

HEARD_WITHIN: Final = 2.0
"""Seconds within which the notification of a push must arrive."""

SKEW: Final = timedelta(seconds=1)
"""How far apart two clocks may be."""

LOOKED_AT: Final = 200
"""The maximum number of messages of a queue that are searched for expired leases."""

LEASE: Final = timedelta(seconds=30)


@dataclass(frozen=True)
class Patient:
    """The database to examine.

    Attributes:
        store: its plans.
        now: returns the time of this process.
        patience: how long something may last before it is reported.
    """

    store: Store
    now: Callable[[], datetime]
    patience: timedelta


def clocks(patient: Patient) -> Work:
    """Compare the clocks of the database and of this process."""
    before = patient.now()
    found = yield lambda: patient.store.metadata.schedules(due=True)
    after = patient.now()
    skew = found.now - (before + (after - before) / 2)
    if abs(skew) <= SKEW + (after - before) / 2:
        return []
    ahead = "ahead of" if skew > timedelta(0) else "behind"
    what = f"the database's clock is {abs(skew).total_seconds():.1f} s {ahead} this process's clock"
    todo = (
        "Run NTP on both hosts. Until their clocks agree, use delays (delay=), which count from the database's time, "
        "instead of due times (due=)"
    )
    return [Finding("clock-skew", "warning", what, "clock", todo)]


def round_trip(patient: Patient) -> Work:
    """Push a message, wait for its notification, claim it, and settle it."""
    store = patient.store
    listens = store.capabilities.wakes_consumers and store.capabilities.processes
    found: list[Finding] = []
    heard = True
    step = "push"
    try:
        if listens:
            heard = yield from _heard(store)
        else:
            yield _pushed(store)
        step = "reserve"
        reserved = yield lambda: store.messages.reserve(QUEUE, 1, LEASE, None, QUEUE)
        step = "settle"
        turns = [Turn(Receipt(one.id, one.token), Committed()) for one in reserved.records]
        yield lambda: store.messages.settle(turns)
    except DuerowError as error:  # if the database is unavailable rather than read-only, the next check tells
        what = f"cannot {step}: {error}"
        todo = "Grant the rights that `duerow sql --roles` prints, if this user should have them"
        if isinstance(error, StoreUnavailable):
            todo = "Connect to a server that accepts writes"
        found.append(Finding(f"cannot-{step}", "warning", what, QUEUE, todo))
    finally:
        yield from _tidied(store)
    if not heard:
        what = (
            f"no notification of a push arrived within {HEARD_WITHIN:.0f} s: idle workers notice messages only when "
            "they poll"
        )
        todo = (
            "Give workers a direct connection: a pooler in transaction mode drops notifications. Or use a driver "
            "that receives them, or a shorter poll="
        )
        found.append(Finding("pushes-unheard", "warning", what, "notifications", todo))
    return found


def _pushed(store: Store, key: str | None = None) -> Callable[[], Any]:
    return lambda: store.messages.push([Entry(QUEUE, key, "json", "null", None, None, None)], "ignore")


def _heard(store: Store) -> Generator[Any, Any, bool]:
    """Push while listening; return whether a notification arrived. A user who may only push need not get one."""
    try:
        yield Hear(QUEUE)
        try:
            yield lambda: store.messages.next_due([QUEUE], timedelta(seconds=30))
        except DuerowError:
            yield _pushed(store, QUEUE)  # with a key, so that no more than one stays behind
            return True
        yield Wait(0.05)  # earlier notifications
        yield _pushed(store)
        return bool((yield Wait(HEARD_WITHIN)))
    finally:
        yield Hush()


def _tidied(store: Store) -> Generator[Any, Any, None]:
    try:
        yield lambda: store.operations.purge(QUEUE, 1_000, ALL_IDS)
    except DuerowError:
        return  # this user may not remove it; its key keeps it the only one


def consumers(patient: Patient) -> Work:
    """Find queues whose due messages nobody consumes, and workers of other versions."""
    store = patient.store
    known: list[Consumer] = yield store.metadata.consumers
    now = (yield lambda: store.metadata.schedules(due=True)).now
    here = [one for one in known if now - one.seen_at <= SEEN]
    return [*_of_other_versions(here), *(yield from _of_queues(patient, here, now))]


def _of_other_versions(here: list[Consumer]) -> list[Finding]:
    ours = own_version()
    return [
        Finding(
            "other-version",
            "warning",
            f"a worker runs duerow {one.version}, and this is {ours}",
            one.name,
            "Deploy one version everywhere: old workers may not understand what new ones write",
        )
        for one in here
        if one.version != ours
    ]


def _of_queues(patient: Patient, here: list[Consumer], now: datetime) -> Work:
    store, found = patient.store, []
    said = yield store.metadata.settings
    definitions = [readable(one.definition) for one in said]
    letters = {one.dead_letter for one in definitions if one is not None}
    paused = {one.queue for one in said if one.paused}
    consumed = {queue for one in here for queue in one.queues}
    queues: list[str] = yield store.operations.queues
    known = {*queues, *consumed, *(one.queue for one in said)}
    for queue in queues:
        if is_reserved(queue) or _is_beside(queue, known):
            continue
        found += yield from _ended_leases(store, queue)
        if queue in letters or (queue in consumed and queue not in paused):
            continue
        stats = yield lambda queue=queue: store.operations.queue_stats(queue, 1)
        oldest = stats.oldest_due_at
        if oldest is None or now - oldest < patient.patience:
            continue
        late = f"its oldest message has been due for {(now - oldest).total_seconds():.0f} s"
        if queue in paused:
            todo = f"If the pause was left on by mistake: duerow resume {queue}"
            found.append(Finding("queue-paused", "note", f"the queue is paused, and {late}", queue, todo))
        else:
            todo = f"Start a worker (duerow worker MODULE:NAME {queue}), unless programs pop from it"
            found.append(Finding("no-consumer", "warning", f"nobody consumes the queue, and {late}", queue, todo))
    return found


def _is_beside(queue: str, known: set[str]) -> bool:
    """Return whether a queue is duerow's own, next to another one; its messages are due when they may be deleted."""
    return any(queue.endswith(suffix) and queue.removesuffix(suffix) in known for suffix in KINDS)


def _ended_leases(store: Store, queue: str) -> Work:
    """Find messages of a queue whose lease ended before they were settled, among the next and the newest ones."""
    records: list[Record] = [
        *(yield lambda: store.operations.peek(queue, LOOKED_AT)),
        *(yield lambda: store.messages.find(Query(queue, order=Order(descending=True), limit=LOOKED_AT))),
    ]
    ended = {one.id for one in records if _lease_ended(one)}
    ended |= {one.id for one in records[:LOOKED_AT] if one.leased_by is not None and one.status in ("new", "error")} & {
        one.id for one in records if one.leased_until is not None and one.due_at == one.leased_until
    }
    if not ended:
        return []
    some = ", ".join(map(str, sorted(ended)[:5]))
    what = f"leases ended before their messages were settled: {len(ended)} messages, such as {some}"
    todo = (
        "Check whether workers were killed (out of memory?), whether handlers block the event loop or hold the GIL so "
        "that leases are not extended, or whether lease= is too short"
    )
    return [Finding("leases-ended", "warning", what, queue, todo)]


def _lease_ended(record: Record) -> bool:
    failure = decode_failure(record.last_error)
    return failure is not None and failure.type == "LeaseEnded"


def schedules(patient: Patient) -> Work:
    """Find schedules whose due ticks nobody pushes."""
    found = yield lambda: patient.store.metadata.schedules(due=True)
    late = [row for row in found.rows if row.next_at is not None and found.now - row.next_at > patient.patience]
    return [
        Finding(
            "schedule-late",
            "warning",
            f"a tick has been due for {(found.now - row.next_at).total_seconds():.0f} s but has not been pushed",
            row.name,
            "Start a worker of any queue of this database, or call maintain() every minute",
        )
        for row in late
        if row.next_at is not None
    ]


CHECKS: Final[dict[str, Callable[[Patient], Work]]] = {
    "clocks": clocks,
    "round trip": round_trip,
    "consumers": consumers,
    "schedules": schedules,
}
"""The checks, by the names under which failed checks are reported."""
