"""Lend due messages, or take them away: from the floor of their queue on."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from itertools import groupby
from operator import attrgetter
from typing import Any, Final

import msgspec

from duerow.clock import FIRST, LAST, moment
from duerow.message import LIVE
from duerow.payload.codec import decode_failure
from duerow.plan import BEGIN, Plan
from duerow.reservation import Receipt
from duerow.store import UNFIT, GivenUp, Moved, Record, Reserved, Retention, Turn, mended
from duerow.store.dead_letters import dead_letter as moved_to_dead_letters
from duerow.stores.sql.claim_floor import Start
from duerow.stores.sql.plans.claim import STATUS, Claim, Rows, Used
from duerow.stores.sql.plans.kinds import of_kinds
from duerow.stores.sql.plans.savepoints import LOG, SavepointPlans
from duerow.stores.sql.priorities import PriorityLine
from duerow.stores.sql.statements import LENT, RECORD, Statement

_CREATED_AT: Final = LENT.index("created_at")
_IN_LINE: Final = (attrgetter("id"), attrgetter("due_at"), attrgetter("priority"))
_DUE_AT: Final = _IN_LINE[1]
_PRIORITY: Final = _IN_LINE[2]
_LEAST, _MOST = FIRST.year, LAST.year  # what is in these years is looked at closely: years are compared faster
_GROUP: Final = RECORD.index("group")

MORE: Final = 50
"""How many rows of groups are looked at beyond those that are wanted, for some may have to wait."""


class _Unsound(ValueError):
    """A row holds what none of ours does."""


class ReservePlans(SavepointPlans):
    """Plans that lend due messages or take them away."""

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
        """Lend due messages; see Store.reserve."""
        values = {"attempts_in": attempts, "lease": self.dialect.write_span(lease), "consumer": consumer}
        if self.dialect.writes_alone or dead_letter is not None or keep is not None:
            # The time is told when the wait for other writers is over, so leases are whole.
            yield BEGIN

        def lent(rows: Rows, line: PriorityLine) -> list[Record]:
            return self._lent(rows, queue, line, lease, consumer)

        def buried(rows: Rows) -> Iterable[str]:
            return (row[-1] for row in rows if row[STATUS] == "dead")

        def leave(used: Sequence[Used]) -> Plan[None]:
            yield from self._after_bury(queue, used, dead_letter, keep)
            taking.given += given_up(used)

        taking = Claim(queue, limit, self.statements.reserve, self.statements.lend, lent, buried, values, kinds)
        taking.apart, taking.leave = apart, leave
        if keep is not None and (history := keep.history) is not None:
            taking.history = history
            taking.over = lambda ids: self._keep_lapsed(ids, history, attempts, buries=True, to=dead_letter)
        yield from self._take(taking)
        yield from taking.after_bury()
        return Reserved(_in_line(taking.records), taking.given)

    def _after_bury(
        self, queue: str, buried: Sequence[Used], dead_letter: str | None, keep: Retention | None
    ) -> Plan[None]:
        """Remember the keys of messages that were buried, and move them to the dead-letter queue if there is one."""
        if keep is not None:
            yield from self._remember([(queue, one.key, one.id) for one in buried], keep)
        if dead_letter is not None and buried:
            yield from self._send_away(queue, dead_letter, buried)

    def _send_away(self, queue: str, to: str, buried: Sequence[Used]) -> Plan[None]:
        """Move messages that were buried to a dead-letter queue."""
        read: Callable[[Any], Any] = self.dialect.read_moment
        now = read((yield self._step(self.statements.time, {}))[0][0])
        items: list[tuple[int, Turn]] = []
        for id, token, key, headers, attempts, error, priority, group in buried:
            why = decode_failure(error)
            reason = "" if why is None else why.message
            letter = moved_to_dead_letters(to, queue, key, headers, attempts, reason, now, group, priority)
            items.append((0, Turn(Receipt(id, token), letter)))
        yield from self._end(items, Moved, {})
        yield from self._wake([to])

    def _lent(self, rows: Rows, queue: str, line: PriorityLine, lease: timedelta, consumer: str) -> list[Record]:
        """Return the rows of LENT that were lent, not buried, as records; what is damaged is mended, and says so."""
        if type(line.priority) is int and self.dialect.sound(rows):
            try:
                return self._lent_sound(rows, queue, line, lease, consumer)
            except UNFIT:
                pass  # whose fault that was, they tell one by one
        return [self._lent_odd(row, queue, line, lease, consumer) for row in rows if row[STATUS] != "dead"]

    def _lent_sound(self, rows: Rows, queue: str, line: PriorityLine, lease: timedelta, consumer: str) -> list[Record]:
        """As `_lent`; raise one of UNFIT if a row holds what none of ours does."""
        read = self.dialect.moment_reader(rows[0][_CREATED_AT])
        until = last_attempt_at = None
        records: list[Record] = []
        # The hottest loop of all. The lease ends at the same time in all rows, and equal moments come as nulls.
        for id, payload, kind, key, headers, status, created, first, place, attempts, token, end, error, *more in rows:
            if status == "dead":
                continue
            if attempts < 1 or status not in LIVE:
                raise _Unsound
            if until is None:
                until = moment(end)
                last_attempt_at = until - lease
            if read is not None:
                created = read(created)
                first = None if first is None else read(first)
                place = None if place is None else read(place)
            if not (_LEAST < created.year < _MOST and (place is None or _LEAST < place.year < _MOST)):
                raise _Unsound
            if first is None:
                first = created
            elif not _LEAST < first.year < _MOST:
                raise _Unsound
            records.append(
                Record(
                    id,
                    queue,
                    payload,
                    kind,
                    key,
                    headers,
                    more[1] if line.grouped else None,
                    line.priority,
                    status,
                    first if place is None else place,
                    first,
                    attempts,
                    token,
                    consumer,
                    until,
                    created,
                    last_attempt_at,
                    error,
                )
            )
        return records

    def _lent_odd(self, row: Sequence[Any], queue: str, line: PriorityLine, lease: timedelta, consumer: str) -> Record:
        """Return one row of LENT as a record, whatever it holds."""
        read: Callable[[Any], Any] = self.dialect.read_moment
        id, payload, kind, key, headers, status, created, first, place, attempts, token, end, error, *more = row
        created = read(created)
        first = created if first is None else read(first)
        due_at = first if place is None else read(place)
        until = moment(end)
        group = more[1] if line.grouped else None
        about = (id, queue, payload, kind, key, headers, group, line.priority, status, due_at, first, attempts, token)
        return mended((*about, consumer, until, created, until - lease, error), lent=True)

    def pop(
        self,
        queue: str,
        limit: int,
        keep: Retention | None = None,
        kinds: Collection[str] | None = None,
        apart: bool = False,
    ) -> Plan[list[Record]]:
        """Take due messages away; see Store.pop."""

        def popped(rows: Rows) -> Iterable[str]:
            return (row[_GROUP] for row in rows)

        statements = self.statements
        taking = Claim(
            queue, limit, statements.pop, statements.take, self._popped, popped, {"attempts_in": None}, kinds
        )
        taking.apart, taking.ends = apart, True
        if keep is not None and (history := keep.history) is not None:
            taking.history = history
            taking.over = lambda ids: self._keep_popped(ids, history)
        yield from self._take(taking)
        if keep is not None:
            yield from self._remember([(queue, record.key, record.id) for record in taking.records], keep)
        for one in taking.given:
            LOG.error("message %s of %s is buried, since it could not be popped: %s", one.id, queue, one.error)
        return _in_line(taking.records)

    def _popped(self, rows: Rows, line: PriorityLine) -> list[Record]:
        """Return the rows of RECORD, each followed by the time, as the records of messages handed out now."""
        now = self.dialect.read_moment(rows[0][len(RECORD)])
        records = [self.dialect.record(row[: len(RECORD)]) for row in rows]
        return [
            msgspec.structs.replace(
                record, attempts=record.attempts + 1, last_attempt_at=now, leased_by=None, leased_until=None
            )
            for record in records
        ]

    # From line to line.

    def _take(self, taking: Claim) -> Plan[None]:
        """Take due rows, lowest priority first; before the queue is called empty all of its lines are looked at."""
        queue, writes = taking.queue, self.floors.nothing_before(taking.source)[1]
        if refused := self.refusals.of(queue):
            taking.apart = True
            taking.passed |= refused
        fresh = self.lines.stale(queue)
        if fresh:
            yield from self._look_for_lines(queue)
        known = self.lines.of(queue)
        if not self.lines.is_paused(queue):
            yield from self._take_from(taking, known)
        if taking.records:
            return
        if not fresh:
            yield from self._look_for_lines(queue)
        if self.lines.is_paused(queue):
            return
        unseen = [line for line in self.lines.of(queue) if line in taking.floored or line not in known]
        for line in unseen:
            self.floors.look_below((taking.source, line))
        yield from self._take_from(taking, unseen)
        if not taking.rows:
            lines, now = self.lines.of(queue), None if self.clock is None else self.clock.now()
            self.floors.found_nothing(taking.source, [(taking.source, line) for line in lines], writes, now)

    def _take_from(self, taking: Claim, lines: Sequence[PriorityLine]) -> Plan[None]:
        if taking.in_steps or any(line.grouped for line in lines):
            yield BEGIN
        for _, equal in groupby(lines, key=_PRIORITY):
            together = list(equal)
            if taking.in_steps or any(line.grouped for line in together):
                yield from self._take_in_turn(taking, together)
            else:
                yield from self._take_at_once(taking, together[0])
            if not taking.left:
                return

    def _take_at_once(self, taking: Claim, line: PriorityLine) -> Plan[None]:
        """Take from a line without groups: picked and taken by one statement."""
        while taking.left:
            wanted, start = taking.left, self.floors.start((taking.source, line))
            rows = yield self._step(
                taking.at_once(start.due_at is not None, len(taking.kinds)), self._from(start, taking, line)
            )
            records = taking.read(rows, line) if rows else []
            taking.add(records, rows, line)
            if records:
                self._raise_floor(taking, line, start, rows, max(map(_DUE_AT, records)))
            if len(rows) < wanted:
                self._found_less(taking, line, start, bool(rows))
                return

    def _take_in_turn(self, taking: Claim, lines: Sequence[PriorityLine]) -> Plan[None]:
        """Take from lines of one priority in several steps: rows are picked, judged if in groups, and then taken."""
        while taking.left:
            picked: list[tuple[datetime, int, PriorityLine]] = []
            for line in lines:
                due = yield from (self._heads(taking, line) if line.grouped else self._picked(taking, line))
                picked += [(due_at, id, line) for id, due_at in due.items()]
            chosen = sorted(picked)[: taking.left]
            if not chosen:
                return
            for line in lines:
                yield from self._take_picked(taking, line, [id for _, id, of in chosen if of is line])

    def _take_picked(self, taking: Claim, line: PriorityLine, ids: Sequence[int]) -> Plan[None]:
        for chunk in self._chunks(sorted(ids)):
            yield from self._apart(taking, chunk, partial(self._take_chunk, taking, line))

    def _take_chunk(self, taking: Claim, line: PriorityLine, ids: Sequence[int]) -> Plan[None]:
        if taking.over is not None:
            yield from taking.over(ids)
        if line.grouped and taking.ends:
            # Who goes before was read: the index knows also who became visible, and was lent, since then.
            yield self._given(self.statements.take_turns, ("id",), [(id,) for id in ids])
        rows = yield self._given(taking.picked, ("id",), [(id,) for id in ids], taking.values)
        records = taking.read(rows, line) if rows else []
        taking.add(records, rows, line)
        if line.grouped:
            taking.served.update(record.group for record in records)
            yield from self._promote_next((taking.queue, group) for group in taking.gone(rows))
        if taking.apart:  # so that what is refused of one's leaving is that one's
            yield from taking.after_bury()

    def _picked(self, taking: Claim, line: PriorityLine) -> Plan[dict[int, Any]]:
        """Lock due rows of a line, as many as are wanted; return their due times by id."""
        start = self.floors.start((taking.source, line))
        bound = self._from(start, taking, line)
        rows = yield self._step(self._pick(taking, line, start), bound)
        if rows:
            read = self.dialect.read_moment
            self._raise_floor(taking, line, start, rows, read(rows[-1][1]))
        if len(rows) < bound["limit_in"]:
            self._found_less(taking, line, start, bool(rows))
        return {row[0]: row[1] for row in rows if row[0] not in taking.passed}

    def _heads(self, taking: Claim, line: PriorityLine) -> Plan[dict[int, Any]]:
        """Lock due rows whose turn it is in their groups; others are put behind, so that each is met here once."""
        heads: dict[int, Any] = {}
        seen: set[int] = set()
        while len(heads) < taking.left:
            start = self.floors.start((taking.source, line))
            bound = self._from(start, taking, line)
            bound["limit_in"] += MORE
            rows = yield self._step(self._pick(taking, line, start), bound)
            known = seen | taking.passed
            new = {row[0]: row for row in rows if row[0] not in known and row[2] not in taking.served}
            turn, behind = yield from self._judged(new)
            seen |= new.keys() - behind.keys()
            heads |= {id: new[id][1] for id in turn}
            if turn:
                newest = self.dialect.read_moment(max(heads.values()))
                self._raise_floor(taking, line, start, rows, newest)
            if not behind:
                if len(rows) < bound["limit_in"]:
                    self._found_less(taking, line, start, bool(rows))
                break
            yield from self._put_behind(taking, behind, new)
        return heads

    def _judged(self, rows: Mapping[int, Sequence[Any]]) -> Plan[tuple[list[int], dict[int, bool]]]:
        """Return those of the picked rows whose turn it is, and those that have to wait, with whether they were lent.

        One whose blocker is being settled at this moment is left where it is.
        """
        turn: list[int] = []
        behind: dict[int, bool] = {}
        for chunk in self._chunks(sorted(rows)):
            found = yield self._given(self.statements.blockers, ("id",), [(id,) for id in chunk])
            for id, was_lent, before, lent, *held in found:
                if before is None and lent is None:
                    turn.append(id)
                elif any(one is not None for one in held):
                    behind[id] = bool(was_lent)
        return turn, behind

    def _put_behind(self, taking: Claim, behind: Mapping[int, bool], rows: Mapping[int, Sequence[Any]]) -> Plan[None]:
        for chunk in self._chunks(sorted(behind)):
            yield from self._apart(taking, chunk, partial(self._put_chunk_behind, taking))
        # What was lent kept its group back, also from one that goes before it.
        yield from self._promote_next((taking.queue, rows[id][2]) for id, was_lent in behind.items() if was_lent)

    def _put_chunk_behind(self, taking: Claim, ids: Sequence[int]) -> Plan[None]:
        attempts = taking.values["attempts_in"]
        if taking.history is not None:
            yield from self._keep_lapsed(ids, taking.history, attempts)
        yield self._given(self.statements.put_behind, ("id",), [(id,) for id in ids], {"attempts_in": attempts})

    def _pick(self, taking: Claim, line: PriorityLine, start: Start) -> Statement:
        return self.statements.pick(line.grouped, start.due_at is not None, len(taking.kinds))

    def _from(self, start: Start, taking: Claim, line: PriorityLine) -> dict[str, Any]:
        bound = {
            **taking.values,
            "queue_in": taking.queue,
            "priority_in": line.priority,
            "limit_in": taking.left + len(taking.passed),
            **of_kinds(taking.kinds),
        }
        if start.due_at is not None:
            bound["floor"] = self.dialect.write_moment(start.due_at)
        return bound

    def _raise_floor(self, taking: Claim, line: PriorityLine, start: Start, rows: Rows, newest: Any) -> None:
        if self.floors.kept:
            self.floors.claimed((taking.source, line), start, oldest=moment(rows[0][-1]), newest=newest)

    def _found_less(self, taking: Claim, line: PriorityLine, start: Start, some: bool) -> None:
        """Note that a line had fewer rows than were wanted, from its floor on or in all."""
        if start.due_at is not None:
            taking.floored.add(line)
        elif not (some or taking.kinds):
            self.lines.found_empty(taking.queue, line)


def _in_line(records: list[Record]) -> list[Record]:
    """Return the records by priority, then due time, then id: sorted three times, which needs no tuples as keys."""
    for key in _IN_LINE:
        records.sort(key=key)
    return records


def given_up(buried: Iterable[Used]) -> list[GivenUp]:
    """Return what a claim is to tell of the messages that it buried."""
    return [GivenUp(one.id, one.key, one.attempts, one.error) for one in buried]
