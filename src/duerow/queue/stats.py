"""Answers to questions about a queue: its state, and why a message is not running."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final, Literal

import msgspec

from duerow.lineage import CROSSING
from duerow.message import Message
from duerow.payload.encoding import ANY_KIND
from duerow.phrases import counted
from duerow.queue import histogram
from duerow.queue.histogram import Buckets
from duerow.queue.metrics import MINUTE, MetricTally
from duerow.store import Consumer, Counted, Counters, Inspection, Totals
from duerow.store.consumer_id import is_cut_off

SEEN: Final = timedelta(seconds=30)
"""How long a consumer counts as present after its last report: workers report every 10 seconds."""

WINDOWS: Final = (1, 5, 15, 60)
"""The spans, in minutes, over which `stats` gives rates."""

TIMES_OF: Final = timedelta(minutes=15)
"""The span over which `stats` reports how long messages waited and were handled."""

Code = Literal[
    "ready",
    "not-due",
    "stopped",
    "paused",
    "group-blocked",
    "leased",
    "limit",
    "unknown-kind",
    "no-consumer",
    "unreachable",
    "done",
    "dead",
]


class Rates(msgspec.Struct, frozen=True):
    """How many turns ended per minute, on average over a span; the names are those of `Totals`."""

    done: float = 0.0
    failed: float = 0.0
    dead: float = 0.0
    moved: float = 0.0


class Times(msgspec.Struct, frozen=True):
    """How long something took at most in 50%, 95% and 99% of cases; accurate to 6%."""

    p50: timedelta
    p95: timedelta
    p99: timedelta


class Stats(msgspec.Struct, frozen=True):
    """The state of a queue.

    Attributes:
        queue: the queue's name.
        ready: messages that are due, including those whose lease has ended.
        delayed: messages that are not due yet.
        leased: messages that a consumer holds; counted only among the first `CAP` messages that are not due.
        waiting: messages that wait for others in their group.
        stopped: live messages without a due time.
        dead: messages that failed for good and stay here.
        oldest_due_at: the due time of the message that has been ready longest; None: none is ready.
        next_due_at: when the next message that is not ready becomes ready; None: there is none.
        paused: whether the queue hands nothing out.
        rates: how many turns ended per minute, over the last 1, 5, 15 and 60 minutes.
        lifetime: how many turns have ended since the tables were created.
        waiting_time: how long messages had been due when they were handed out in the last 15 minutes; None: none were.
        handling_time: how long workers' handlers took in the last 15 minutes; None: no handler ran.
        capped: which of the numbers stopped at a cap; show them like "10000+".
    """

    queue: str
    ready: int
    delayed: int
    leased: int
    waiting: int
    stopped: int
    dead: int
    oldest_due_at: datetime | None
    next_due_at: datetime | None
    paused: bool
    rates: Mapping[int, Rates]
    lifetime: Totals
    waiting_time: Times | None
    handling_time: Times | None
    capped: frozenset[str] = frozenset()

    def shown(self, name: str) -> str:
        """Return one of the numbers as text, with a + if counting stopped at a cap."""
        return f"{getattr(self, name)}{'+' if name in self.capped else ''}"


class Minute(msgspec.Struct, frozen=True):
    """The work done on a queue in one minute.

    Attributes:
        start: when the minute began.
        ended: how many turns ended in it, by outcome.
        waiting: a histogram of how long messages had been due when they were handed out: the number of messages by the
            lower bound of their bucket, in seconds. A bucket's width is an eighth to a ninth of its bound.
        handling: a histogram of how long workers' handlers took.
        waiting_time, handling_time: the percentiles of these; None: there were none.
        processes: how many turns each process ended, by its host and process id.
    """

    start: datetime
    ended: Totals
    waiting: Mapping[float, int]
    handling: Mapping[float, int]
    waiting_time: Times | None
    handling_time: Times | None
    processes: Mapping[str, int] = {}


class Reason(msgspec.Struct, frozen=True):
    """One reason why a message is or is not running.

    Attributes:
        code: a word for programs.
        text: a sentence for people.
        until: when the reason will go away on its own, if it will and the time is known.
        by: the id of the message that blocks it, or the consumer that holds it.
    """

    code: Code
    text: str
    until: datetime | None = None
    by: int | str | None = None

    def __str__(self) -> str:
        return self.text


class Work(msgspec.Struct, frozen=True):
    """The work done on a queue, recently and in total; fields as in `Stats`."""

    rates: Mapping[int, Rates]
    lifetime: Totals
    waiting_time: Times | None
    handling_time: Times | None


def work(counters: Counters, unwritten: MetricTally) -> Work:
    """Return the work of all processes, including what this process has not written yet."""
    newest = Counted(
        "", counters.now, Totals(unwritten.done, unwritten.failed, unwritten.dead, unwritten.moved), None, None
    )
    rates = _rates([*counters.lately, newest], counters.now)
    lifetime = Totals(*(_of(counters.lifetime, name) + _of(newest.totals, name) for name in _ENDS))
    waiting, handling = dict(unwritten.waiting), dict(unwritten.handling)
    for row in counters.lately:
        if row.minute + MINUTE > counters.now - TIMES_OF:
            histogram.add_up(waiting, histogram.read(row.waiting))
            histogram.add_up(handling, histogram.read(row.handling))
    return Work(rates, lifetime, _times(waiting), _times(handling))


def minutes(counters: Counters) -> list[Minute]:
    """Return the minutes of the last hour in which something was counted, the oldest first, all processes together."""
    by_start: dict[datetime, tuple[list[int], Buckets, Buckets, dict[str, int]]] = {}
    for row in counters.lately:
        ended, waiting, handling, processes = by_start.setdefault(row.minute, ([0] * len(_ENDS), {}, {}, {}))
        if number := sum(_of(row.totals, name) for name in _ENDS):
            processes[process_name(row.process)] = processes.get(process_name(row.process), 0) + number
        ended[:] = [before + _of(row.totals, name) for before, name in zip(ended, _ENDS, strict=True)]
        histogram.add_up(waiting, histogram.read(row.waiting))
        histogram.add_up(handling, histogram.read(row.handling))
    return [minute_of(start, *by_start[start]) for start in sorted(by_start)]


def minute_of(
    start: datetime, ended: Sequence[int], waiting: Buckets, handling: Buckets, processes: Mapping[str, int]
) -> Minute:
    """Return what was counted from a given time on, with its percentiles."""
    return Minute(
        start,
        Totals(*ended),
        _by_seconds(waiting),
        _by_seconds(handling),
        _times(waiting),
        _times(handling),
        dict(processes),
    )


def process_name(process: str) -> str:
    """Return the host and the process id of a counting process."""
    return ":".join(process.partition("/")[0].split(":")[:2])


def _by_seconds(buckets: Buckets) -> dict[float, int]:
    return {histogram.least(bucket) if bucket else 0.0: buckets[bucket] for bucket in sorted(buckets)}


def _rates(rows: Sequence[Counted], now: datetime) -> dict[int, Rates]:
    """Return how many turns ended per minute in spans that end now; a span's first minute counts in proportion."""
    sums = {minutes: [0.0] * len(_ENDS) for minutes in WINDOWS}
    for row in rows:
        ended = [_of(row.totals, name) for name in _ENDS]
        since = (now - row.minute) / MINUTE
        for minutes, sum_ in sums.items():
            part = min(1.0, minutes + 1 - since)
            if part > 0:
                sum_[:] = [before + number * part for before, number in zip(sum_, ended, strict=True)]
    return {minutes: Rates(*(number / minutes for number in sum_)) for minutes, sum_ in sums.items()}


def _of(totals: Totals, name: str) -> int:
    number: int = getattr(totals, name)
    return number


def _times(buckets: Buckets) -> Times | None:
    found = histogram.percentiles(buckets, 50, 95, 99)
    return Times(*found) if found else None


_ENDS: Final = Totals.__struct_fields__


def reasons(seen: Inspection, message: Message, limit: int | None) -> list[Reason]:
    """Return all reasons that apply (at least one), those in the message itself first.

    Args:
        seen: what the store knows about the message and its queue.
        message: the message.
        limit: the total number of attempts that the queue's policy allows.
    """
    found = reasons_of_its_own(seen, message, limit)
    if message.status not in ("done", "dead"):
        found += [*_of_its_group(seen), *_of_its_queue(seen, message)]
    return found or [_ready(message)]


def reasons_of_its_own(seen: Inspection, message: Message, limit: int | None) -> list[Reason]:
    """Return the reasons in the message itself, regardless of its queue, group and consumers; there may be none."""
    if message.status == "done":
        return [Reason("done", f"message {message.id} is done")]
    if message.status == "dead":
        why = f": {message.last_error.message}" if message.last_error else ""
        attempts = counted(message.attempts, "attempt")
        return [Reason("dead", f"message {message.id} failed for good after {attempts}{why}")]
    return _of_its_own(seen, message, limit)


def reasons_of_row(seen: Inspection, message: Message, limit: int | None) -> list[Reason]:
    """Like `reasons`, for a row of a user's own table, which has no group and whose consumers are unknown."""
    return reasons_of_its_own(seen, message, limit) or [_ready(message)]


def _ready(message: Message) -> Reason:
    there = "sends it to another database" if CROSSING in message.headers else "takes it"
    return Reason("ready", f"message {message.id} is ready: a consumer {there} when its turn comes")


def _of_its_own(seen: Inspection, message: Message, limit: int | None) -> list[Reason]:
    lease = message.leased_until
    if lease is not None and lease > seen.now:
        return [
            Reason(
                "leased", f"{message.leased_by} holds it until {_time(lease)} UTC", until=lease, by=message.leased_by
            )
        ]
    if message.due_at is None:
        return [Reason("stopped", "it was stopped: it has no due time until it is rescheduled")]
    if lease is not None and limit is not None and message.attempts >= limit:
        text = f"its attempts are used up ({message.attempts} of {limit}): it will be buried instead of handed out"
        return [Reason("limit", text)]
    if message.due_at > seen.now:
        again = " again" if message.status == "error" else ""
        return [Reason("not-due", f"it is due{again} at {_time(message.due_at)} UTC", until=message.due_at)]
    return []


def _of_its_group(seen: Inspection) -> list[Reason]:
    blocker, now = seen.blocker, seen.now
    if blocker is None:
        return []
    lease = blocker.leased_until
    if lease is not None and lease > now:
        state = f" and is held by {blocker.leased_by} until {_time(lease)} UTC"
    elif blocker.due_at is None:
        state = " and was stopped"
    else:
        state = f" and is due at {_time(blocker.due_at)} UTC" if blocker.due_at > now else " and is due"
    here = _consumers(seen, blocker.queue)
    if here and not _is_known(blocker.kind, here):
        state += f"; no consumer seen recently knows its kind {blocker.kind!r}"
    text = f"message {blocker.id} in its group {blocker.group!r} goes first{state}"
    return [Reason("group-blocked", text, until=blocker.due_at, by=blocker.id)]


def _of_its_queue(seen: Inspection, message: Message) -> list[Reason]:
    found: list[Reason] = []
    if seen.paused:
        found.append(Reason("paused", f"queue {message.queue!r} is paused until somebody resumes it"))
    here = _consumers(seen, message.queue)
    waiting = max(here, key=lambda one: one.seen_at, default=None)
    if waiting is not None and is_cut_off(waiting.name):
        text = f"it goes to another database, which cannot accept it now; {waiting.name} keeps trying"
        found.append(Reason("unreachable", text, by=waiting.name))
    elif not here:
        found.append(Reason("no-consumer", f"no consumer of queue {message.queue!r} was seen in the last {_SEEN} s"))
    elif not _is_known(message.kind, here):
        names = ", ".join(sorted(one.name for one in here)[:5])
        found.append(
            Reason("unknown-kind", f"no consumer seen recently knows payloads of kind {message.kind!r}: {names}")
        )
    return found


def _consumers(seen: Inspection, queue: str) -> list[Consumer]:
    """Return the consumers of a queue that were seen recently."""
    return [one for one in seen.consumers if queue in one.queues and seen.now - one.seen_at <= SEEN]


def _is_known(kind: str, consumers: Sequence[Consumer]) -> bool:
    return any(kind in one.kinds or ANY_KIND in one.kinds for one in consumers)


def _time(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M:%S}"


_SEEN: Final = int(SEEN.total_seconds())
