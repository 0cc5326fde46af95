"""Run a claim: from the floor of its queue on, one priority after the other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import partial
from itertools import groupby
from operator import attrgetter
from typing import Any, Final

from duerow.clock import moment
from duerow.plan import BEGIN, Plan
from duerow.stores.sql.claim_floor import Start
from duerow.stores.sql.plans.claim_progress import Claim, Rows
from duerow.stores.sql.plans.context import Context, Plans
from duerow.stores.sql.plans.history import HistoryPlans
from duerow.stores.sql.plans.kinds import of_kinds
from duerow.stores.sql.plans.priorities import PriorityPlans
from duerow.stores.sql.plans.promote import PromotePlans
from duerow.stores.sql.plans.savepoints import SavepointPlans
from duerow.stores.sql.priorities import PriorityLine
from duerow.stores.sql.statements import Statement

_DUE_AT: Final = attrgetter("due_at")
_PRIORITY: Final = attrgetter("priority")

MORE: Final = 50
"""How many more rows of groups are read than wanted, since some may have to wait."""


class ClaimPlans(Plans):
    """Plans that take due rows, lent or popped.

    Args:
        context: what all plans of the store share.
        priorities: finds the priorities that other processes use.
        savepoints: continues without rows that the database refuses to change.
        history: writes the turns of expired leases.
        promote: puts the next message of a group in line.
    """

    def __init__(
        self,
        context: Context,
        priorities: PriorityPlans,
        savepoints: SavepointPlans,
        history: HistoryPlans,
        promote: PromotePlans,
    ) -> None:
        super().__init__(context)
        self._priorities, self._savepoints = priorities, savepoints
        self._history, self._promote = history, promote

    def carry_out(self, taking: Claim) -> Plan[None]:
        """Take due rows, lowest priority first; all lines of the queue are read before it counts as empty."""
        context = self.context
        queue, writes = taking.queue, context.floors.nothing_before(taking.source)[1]
        if refused := context.refusals.of(queue):
            taking.apart = True
            taking.passed |= refused
        fresh = context.priorities.stale(queue)
        if fresh:
            yield from self._priorities.look(queue)
        known = context.priorities.of(queue)
        if not context.priorities.is_paused(queue):
            yield from self._take_from(taking, known)
        if taking.records:
            return
        if not fresh:
            yield from self._priorities.look(queue)
        if context.priorities.is_paused(queue):
            return
        unseen = [line for line in context.priorities.of(queue) if line in taking.floored or line not in known]
        for line in unseen:
            context.floors.look_below((taking.source, line))
        yield from self._take_from(taking, unseen)
        if not taking.rows:
            lines, now = context.priorities.of(queue), None if context.clock is None else context.clock.now()
            context.floors.found_nothing(taking.source, [(taking.source, line) for line in lines], writes, now)

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
            wanted, start = taking.left, self.context.floors.start((taking.source, line))
            rows = yield self.context.step(
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
        for chunk in self.context.chunks(sorted(ids)):
            yield from self._savepoints.apart(taking, chunk, partial(self._take_chunk, taking, line))

    def _take_chunk(self, taking: Claim, line: PriorityLine, ids: Sequence[int]) -> Plan[None]:
        context = self.context
        if taking.over is not None:
            yield from taking.over(ids)
        if line.grouped and taking.ends:
            # Who goes before was read: the index knows also who became visible, and was lent, since then.
            yield context.given(context.statements.groups.take_turns, ("id",), [(id,) for id in ids])
        rows = yield context.given(taking.picked, ("id",), [(id,) for id in ids], taking.values)
        records = taking.read(rows, line) if rows else []
        taking.add(records, rows, line)
        if line.grouped:
            taking.served.update(record.group for record in records)
            yield from self._promote.promote_next((taking.queue, group) for group in taking.gone(rows))
        if taking.apart:  # so that what is refused of one's leaving is that one's
            yield from taking.after_bury()

    def _picked(self, taking: Claim, line: PriorityLine) -> Plan[dict[int, Any]]:
        """Lock due rows of a line, as many as are wanted; return their due times by id."""
        context = self.context
        start = context.floors.start((taking.source, line))
        bound = self._from(start, taking, line)
        rows = yield context.step(self._pick(taking, line, start), bound)
        if rows:
            read = context.dialect.read_moment
            self._raise_floor(taking, line, start, rows, read(rows[-1][1]))
        if len(rows) < bound["limit_in"]:
            self._found_less(taking, line, start, bool(rows))
        return {row[0]: row[1] for row in rows if row[0] not in taking.passed}

    def _heads(self, taking: Claim, line: PriorityLine) -> Plan[dict[int, Any]]:
        """Lock due rows whose turn it is in their groups; others are put behind, so that each is met here once."""
        context = self.context
        heads: dict[int, Any] = {}
        seen: set[int] = set()
        while len(heads) < taking.left:
            start = context.floors.start((taking.source, line))
            bound = self._from(start, taking, line)
            bound["limit_in"] += MORE
            rows = yield context.step(self._pick(taking, line, start), bound)
            known = seen | taking.passed
            new = {row[0]: row for row in rows if row[0] not in known and row[2] not in taking.served}
            turn, behind = yield from self._judged(new)
            seen |= new.keys() - behind.keys()
            heads |= {id: new[id][1] for id in turn}
            if turn:
                newest = context.dialect.read_moment(max(heads.values()))
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
        context = self.context
        turn: list[int] = []
        behind: dict[int, bool] = {}
        for chunk in context.chunks(sorted(rows)):
            found = yield context.given(context.statements.groups.blockers, ("id",), [(id,) for id in chunk])
            for id, was_lent, before, lent, *held in found:
                if before is None and lent is None:
                    turn.append(id)
                elif any(one is not None for one in held):
                    behind[id] = bool(was_lent)
        return turn, behind

    def _put_behind(self, taking: Claim, behind: Mapping[int, bool], rows: Mapping[int, Sequence[Any]]) -> Plan[None]:
        for chunk in self.context.chunks(sorted(behind)):
            yield from self._savepoints.apart(taking, chunk, partial(self._put_chunk_behind, taking))
        # What was lent kept its group back, also from one that goes before it.
        yield from self._promote.promote_next(
            (taking.queue, rows[id][2]) for id, was_lent in behind.items() if was_lent
        )

    def _put_chunk_behind(self, taking: Claim, ids: Sequence[int]) -> Plan[None]:
        attempts = taking.values["attempts_in"]
        if taking.history is not None:
            yield from self._history.keep_lapsed(ids, taking.history, attempts)
        yield self.context.given(
            self.context.statements.groups.put_behind, ("id",), [(id,) for id in ids], {"attempts_in": attempts}
        )

    def _pick(self, taking: Claim, line: PriorityLine, start: Start) -> Statement:
        return self.context.statements.reserve.pick(line.grouped, start.due_at is not None, len(taking.kinds))

    def _from(self, start: Start, taking: Claim, line: PriorityLine) -> dict[str, Any]:
        bound = {
            **taking.values,
            "queue_in": taking.queue,
            "priority_in": line.priority,
            "limit_in": taking.left + len(taking.passed),
            **of_kinds(taking.kinds),
        }
        if start.due_at is not None:
            bound["floor"] = self.context.dialect.write_moment(start.due_at)
        return bound

    def _raise_floor(self, taking: Claim, line: PriorityLine, start: Start, rows: Rows, newest: Any) -> None:
        if self.context.floors.kept:
            self.context.floors.claimed((taking.source, line), start, oldest=moment(rows[0][-1]), newest=newest)

    def _found_less(self, taking: Claim, line: PriorityLine, start: Start, some: bool) -> None:
        """Note that a line had fewer rows than were wanted, from its floor on or in all."""
        if start.due_at is not None:
            taking.floored.add(line)
        elif not (some or taking.kinds):
            self.context.priorities.found_empty(taking.queue, line)
