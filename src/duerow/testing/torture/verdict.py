"""The verdict: whether everything that was pushed ended once, nothing is stuck, and groups kept their order.

It is based on the ledger and on the contents of the tables when the run is over, read with plain SQL. The order of
groups is the one that docs/how-to/order-and-groups.md describes: a message enters its group when the transaction of its
push, or of the operator who brings it back, commits; a claim that begins after that must not skip it.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from functools import cached_property
from typing import Any

from duerow.queue.schedule import TICK
from duerow.testing.torture.environment import BILLS_DEAD, DONE, EVERY, TICKS, WITH_HISTORY, WORKED
from duerow.testing.torture.evidence import NEVER, BrokenPromise, Entry, Row, Span, Turn
from duerow.testing.torture.ledger import EVIDENCE, POPPED, WITHIN, Line

ENDS = frozenset(("done", "moved", "dropped"))
"""Outcomes of turns in the history after which a message no longer exists."""


class Verdict:
    """The verdict on a run.

    Args:
        lines: the ledger, in order.
        rows: all messages in the tables.
        turns: all turns in the history.
        ticked: the first and last tick of the schedule; None if there was no schedule.

    Attributes:
        allowed: how often a message began after a later one of its group although that is allowed, by reason.
    """

    def __init__(
        self, lines: Sequence[Line], rows: Sequence[Row], turns: Sequence[Turn], ticked: Span | None = None
    ) -> None:
        self.lines, self.rows, self.turns, self.ticked = lines, rows, turns, ticked
        self.allowed: Counter[str] = Counter()

    @property
    def turns_begun(self) -> int:
        """How many turns were begun, on which the verdict is based."""
        return sum(line.what == "begun" for line in self.lines)

    def broken_promises(self) -> list[BrokenPromise]:
        """Return all promises that were not kept."""
        return [
            *self.lost_or_doubled(),
            *self.half_pushed(),
            *self.lent_twice(),
            *self.stuck(),
            *self.together(),
            *self.broken_extensions(),
            *self.out_of_order(),
            *self.not_ticked_once(),
        ]

    # Nothing lost, nothing duplicated, nothing stuck.

    def lost_or_doubled(self) -> Iterator[BrokenPromise]:
        """Each message that was pushed or begun ended exactly once, according to the history as well."""
        ends: dict[int, list[str]] = defaultdict(list)
        for line in self.lines:
            if line.what in EVIDENCE and line.message is not None:
                ends[line.message].append(line.what)
        for row in self.rows:
            if row.queue == DONE:
                ends[row.payload.get("of", row.id)].append("a message in done")
            else:
                ends[row.id].append(f"{row.status} in {row.queue}")
        told: dict[int, list[str]] = defaultdict(list)
        for turn in self.turns:
            if turn.queue in WITH_HISTORY and turn.outcome in ENDS:
                told[turn.id].append(f"{turn.outcome} in the history")
        for id, queue in self.known.items():
            found, past = ends[id], told[id]
            if queue in WITH_HISTORY:
                still = [end for end in found if end == "removed" or end.startswith(("dead in", "new in", "error in"))]
                if len(past) + len(still) != 1:
                    yield BrokenPromise(
                        f"message {id} of {queue} ended {len(past) + len(still)} times: {past + still}", (id,)
                    )
                    continue
                found = found or past
            if len(found) != 1:
                yield BrokenPromise(f"message {id} of {queue} ended {len(found)} times: {found}", (id,))

    def half_pushed(self) -> Iterator[BrokenPromise]:
        """A message that was pushed within a transaction exists if and only if that transaction's line does."""
        pushed = {(line.act, line.message) for line in self.lines if line.what == "pushed"}
        seen = {(line.act, line.message): None for line in self.lines if line.what in ("begun", "taken", "effect")}
        seen |= {
            (row.payload.get("act"), row.id): None
            for row in self.rows
            if "of" not in row.payload and "replay-of" not in row.headers
        }
        for act, id in seen:
            if act is not None and id is not None and act.endswith(WITHIN) and (act, id) not in pushed:
                yield BrokenPromise(
                    f"message {id} exists, but the transaction {act} that pushed it does not", (id,), (act,)
                )

    def lent_twice(self) -> Iterator[BrokenPromise]:
        """No turn was handed out twice; a pop is not a turn."""
        begun = (line for line in self.lines if line.what == "begun" and line.note != POPPED)
        turns = Counter((line.message, line.token) for line in begun)
        for (id, token), times in turns.items():
            if times > 1 and id is not None:
                yield BrokenPromise(f"the turn {token} of message {id} was begun {times} times", (id,))

    def stuck(self) -> Iterator[BrokenPromise]:
        """Nothing waits forever, and nobody holds anything."""
        for row in self.rows:
            if (row.queue in WORKED and row.status in ("new", "error")) or row.leased_by is not None:
                yield BrokenPromise(f"message {row.id} is stuck in {row.queue}: {row.why or row.leased_by}", (row.id,))

    def not_ticked_once(self) -> Iterator[BrokenPromise]:
        """Each tick of the schedule, from the first to the last, became one message."""
        if self.ticked is None:
            return
        messages: dict[datetime, list[int]] = defaultdict(list)
        for row in self.rows:
            if row.queue == TICKS:
                messages[datetime.fromisoformat(row.headers[TICK])].append(row.id)
        first = self.ticked.first or min(messages, default=None)
        last = max([*messages, *filter(None, [self.ticked.last])], default=None)
        due: set[datetime] = set()
        if first is not None and last is not None:
            due = {first + number * EVERY for number in range((last - first) // EVERY + 1)}
        for tick in sorted(due | messages.keys()):
            ids = tuple(messages[tick])
            if len(ids) != 1:
                yield BrokenPromise(f"the tick of {tick} was pushed {len(ids)} times", ids)
            elif tick not in due:
                yield BrokenPromise(f"message {ids[0]} is for {tick}, which is not a tick of the schedule", ids)

    # Groups and leases.

    def together(self) -> Iterator[BrokenPromise]:
        """While a turn of a group was held, no other turn of that group was held."""
        for begins in self.begins.values():
            places = [line.seq for line in begins]
            for line in begins:
                end = self.finished.get((line.message, line.token))
                if line.held and end is not None:
                    for other in begins[bisect_right(places, line.seq) : bisect_left(places, end)]:
                        if other.held and line.message is not None and other.message is not None:
                            yield BrokenPromise(
                                f"messages {line.message} and {other.message} of group {line.group} were held together",
                                (line.message, other.message),
                            )

    def broken_extensions(self) -> Iterator[BrokenPromise]:
        """A lease that was extended by hand held, unless an operator ended it."""
        in_time = {(line.message, line.token) for line in self.lines if line.what == "in time"}
        ended = {line.message: line.seq for line in reversed(self.lines) if line.what in ("changed", "removed")}
        for line in self.lines:
            lost = line.what == "extended" and not line.held and (line.message, line.token) in in_time
            if lost and line.message is not None and ended.get(line.message, NEVER) > line.seq:
                yield BrokenPromise(
                    f"the extended lease of turn {line.token} of message {line.message} broke", (line.message,)
                )

    def out_of_order(self) -> Iterator[BrokenPromise]:
        """No message of a group began before one with a lower id that its claim must have seen."""
        for begins in self.begins.values():
            places = [line.seq for line in begins]
            for line in begins:
                if line.message is None:
                    continue
                entry = self._entry(line.message, line.seq)
                for other in begins[bisect_right(places, entry.began) : bisect_left(places, line.seq)]:
                    if other.message is not None and other.message > line.message:
                        its = self._entry(other.message, other.seq)
                        if entry.over < its.began or entry.at < (other.since or 0):
                            acts = tuple(one.act for one in (entry, its) if one.act is not None)
                            told = (
                                f"message {other.message} of group {line.group} in {line.queue} began "
                                f"(line {other.seq}) before {line.message} (line {line.seq})"
                            )
                            yield BrokenPromise(told, (line.message, other.message), acts)
                        else:
                            self.allowed[self._why(entry)] += 1

    def _why(self, entry: Entry) -> str:
        """Return why a message was allowed to begin after a later one."""
        came = "was brought back" if entry.act in self.revivals else "was pushed"
        return f"it {came} by a transaction that " + ("nobody saw end" if entry.over == NEVER else "ended too late")

    def _entry(self, message: int, before: int) -> Entry:
        """Return the last way in which a message entered its group before a place in the ledger."""
        entries = self.entries.get(message, [])
        place = bisect_left([entry.began for entry in entries], before)
        return entries[place - 1] if place else Entry(None, before, NEVER, NEVER)

    @cached_property
    def known(self) -> dict[int, str]:
        """All messages that were certainly pushed, or were seen, and their queues."""
        what = ("pushed", "begun", "taken", "revived", *EVIDENCE)
        found = {line.message: line.queue for line in self.lines if line.what in what}
        there = {row.id: row.queue for row in self.rows if row.queue in WORKED}
        return {id: queue for id, queue in (there | found).items() if id is not None and queue is not None}

    @cached_property
    def begins(self) -> dict[tuple[str | None, str], list[Line]]:
        """The lines of each group's turns that were held when they began, in order."""
        found: dict[tuple[str | None, str], list[Line]] = defaultdict(list)
        for line in self.lines:
            if line.what == "begun" and line.group is not None and line.held is not False:
                found[line.queue, line.group].append(line)
        return found

    @cached_property
    def finished(self) -> dict[tuple[int | None, int | None], int]:
        """The places in the ledger where turns that were held to the end finished."""
        lines = (line for line in reversed(self.lines) if line.what == "finished" and line.held)
        return {(line.message, line.token): line.seq for line in lines}

    @cached_property
    def overs(self) -> dict[str | None, Line]:
        """The places in the ledger where acts were over."""
        return {line.act: line for line in self.lines if line.what == "over"}

    @cached_property
    def revivals(self) -> frozenset[str | None]:
        """Acts that brought a message back."""
        return frozenset(line.act for line in self.lines if line.what == "reviving")

    @cached_property
    def entries(self) -> dict[int, list[Entry]]:
        """Every way in which each message entered its group."""
        began = {line.act: line.seq for line in self.lines if line.what in ("pushing", "reviving")}
        revived = {line.act for line in self.lines if line.what == "revived"}
        found: dict[int, list[Entry]] = defaultdict(list)
        for line in self.lines:
            pushed = line.what == "pushed" and line.note != "updated"
            # A revival whose end nobody saw may have happened.
            came = pushed or (line.what == "reviving" and (line.act in revived or line.act not in self.overs))
            if came and line.message is not None:
                over = self.overs.get(line.act)
                end = (NEVER, NEVER) if over is None else (over.seq, over.at)
                found[line.message].append(Entry(line.act, began[line.act], *end))
        return {id: sorted(entries, key=lambda one: one.began) for id, entries in found.items()}

    # Reports.

    def __str__(self) -> str:
        lines = Counter(line.what for line in self.lines)
        turns = Counter(turn.outcome for turn in self.turns)
        groups = sum(map(len, self.begins.values()))
        return (
            f"{len(self.known)} messages, {self.turns_begun} turns begun, {groups} of them in groups; "
            f"ledger {dict(lines)}; history {dict(turns)}; dead at the end {self._dead()}; "
            f"began after a later one of the group, as allowed: {dict(self.allowed)}; "
            f"{sum(row.queue == TICKS for row in self.rows)} ticks of a schedule"
        )

    def _dead(self) -> int:
        return sum(row.queue == BILLS_DEAD or row.status == "dead" for row in self.rows)

    def story(self, broken: BrokenPromise) -> str:
        """Return what the ledger, the history and the tables say about the messages of a broken promise."""
        of_acts = (line for line in self.lines if line.act in broken.acts and line.message is None)
        of_messages = (line for line in self.lines if line.message in broken.messages)
        lines = sorted({*of_acts, *of_messages}, key=lambda line: line.seq)
        turns = [turn for turn in self.turns if turn.id in broken.messages]
        rows = [row for row in self.rows if row.id in broken.messages or row.payload.get("of") in broken.messages]
        return "\n  ".join([broken.what, *_short(lines), *_short(turns), *_short(rows)])


def _short(items: Iterable[Any], most: int = 60) -> list[str]:
    shown = [str(item) for item in items]
    return shown if len(shown) <= most else [*shown[: most // 2], "…", *shown[-most // 2 :]]
