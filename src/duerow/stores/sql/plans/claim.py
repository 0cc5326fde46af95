"""Run a claim: start at the floor of its queue, and go through the priorities one by one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
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
from duerow.stores.sql.statements import Statement, Step

_DUE_AT: Final = attrgetter("due_at")
_PRIORITY: Final = attrgetter("priority")
_GROUPED: Final = attrgetter("grouped")

MORE: Final = 50
"""How many extra rows of groups are read, because some may have to wait."""


class ClaimPlans(Plans):
    """Plans that take due rows, to lease or to pop them.

    Args:
        context: shared by all plans of the store.
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

    def carry_out(self, claim: Claim) -> Plan[None]:
        """Take due rows, lowest priority first; read all lines of the queue before it counts as empty.

        A claim that need not be exact may leave out what is below the floors.
        """
        context = self.context
        queue, writes = claim.queue, context.floors.nothing_before(claim.source)[1]
        if refused := context.refusals.of(queue):
            claim.apart = True
            claim.passed |= refused
        fresh = context.priorities.stale(queue)
        if fresh:
            yield from self._priorities.look(queue)
        known: list[PriorityLine] = []
        if not context.priorities.is_paused(queue):
            known = context.priorities.of(queue)
            yield from self._take_from(claim, known)
        if claim.records:
            return
        if not fresh:
            yield from self._priorities.look(queue)
        if context.priorities.is_paused(queue):
            return
        lines = context.priorities.of(queue)
        left_out: list[PriorityLine] = []
        if not claim.exact:
            left_out += (line for line in claim.floored if context.floors.must_leave_out((claim.source, line)))
        unseen = [line for line in lines if line not in left_out and (line in claim.floored or line not in known)]
        for line in unseen:
            context.floors.look_below((claim.source, line))
        yield from self._take_from(claim, unseen)
        if not claim.rows and not left_out:
            lines, now = context.priorities.of(queue), None if context.clock is None else context.clock.now()
            context.floors.found_nothing(claim.source, [(claim.source, line) for line in lines], writes, now)

    def _take_from(self, claim: Claim, lines: Sequence[PriorityLine]) -> Plan[None]:
        if claim.in_steps or any(map(_GROUPED, lines)):
            yield BEGIN
        for _, equal in groupby(lines, key=_PRIORITY):
            together = list(equal)
            if claim.in_steps or any(map(_GROUPED, together)):
                yield from self._take_in_turn(claim, together)
            else:
                yield from self._take_at_once(claim, together[0])
            if not claim.left:
                return

    def _take_at_once(self, claim: Claim, line: PriorityLine) -> Plan[None]:
        """Take rows from a line without groups; one statement picks and takes them."""
        while wanted := claim.left:
            start = self.context.floors.start((claim.source, line))
            rows = yield self._step_at_once(claim, line, start)
            self._took(claim, line, start, rows)
            if len(rows) < wanted:
                return

    def _step_at_once(self, claim: Claim, line: PriorityLine, start: Start) -> Step:
        statement = claim.at_once(start.due_at is not None, len(claim.kinds))
        return self.context.step(statement, self._from(start, claim, line))

    def _took(self, claim: Claim, line: PriorityLine, start: Start, rows: Rows) -> None:
        """Add the rows that a statement took, and note where the next one starts."""
        wanted = claim.left
        records = claim.read(rows, line) if rows else []
        claim.add(records, rows, line)
        if records:
            self._raise_floor(claim, line, start, rows, max(map(_DUE_AT, records)))
        if len(rows) < wanted:
            self._found_less(claim, line, start, bool(rows))

    def only_step(self, claim: Claim) -> tuple[Step, Callable[[Rows], None]] | None:
        """Return the first statement of a claim, and what to do with its rows; None unless one statement may do.

        One may do if the queue, as far as is known, has messages of one priority only, and none in groups.
        """
        context, queue = self.context, claim.queue
        lines = context.priorities.of(queue)
        if claim.in_steps or len(lines) != 1 or lines[0].grouped:
            return None
        if context.priorities.stale(queue) or context.priorities.is_paused(queue) or context.refusals.of(queue):
            return None
        (line,) = lines
        start = context.floors.start((claim.source, line))
        return self._step_at_once(claim, line, start), partial(self._took, claim, line, start)

    def _take_in_turn(self, claim: Claim, lines: Sequence[PriorityLine]) -> Plan[None]:
        """Take rows from lines of one priority in steps: pick them, check whose turn it is in groups, take them."""
        while claim.left:
            picked: list[tuple[datetime, int, PriorityLine]] = []
            for line in lines:
                due = yield from (self._heads(claim, line) if line.grouped else self._picked(claim, line))
                picked += [(due_at, id, line) for id, due_at in due.items()]
            chosen = sorted(picked)[: claim.left]
            if not chosen:
                return
            for line in lines:
                yield from self._take_picked(claim, line, [id for _, id, of in chosen if of is line])

    def _take_picked(self, claim: Claim, line: PriorityLine, ids: Sequence[int]) -> Plan[None]:
        for chunk in self.context.chunks(sorted(ids)):
            yield from self._savepoints.apart(claim, chunk, partial(self._take_chunk, claim, line))

    def _take_chunk(self, claim: Claim, line: PriorityLine, ids: Sequence[int]) -> Plan[None]:
        context = self.context
        if claim.over is not None:
            yield from claim.over(ids)
        if line.grouped and claim.ends:
            # The blockers were read earlier; the unique index also sees rows that were committed and leased since.
            yield context.given(context.statements.groups.take_turns, ("id",), [(id,) for id in ids])
        rows = yield context.given(claim.picked, ("id",), [(id,) for id in ids], claim.values)
        records = claim.read(rows, line) if rows else []
        claim.add(records, rows, line)
        if line.grouped:
            claim.served.update(record.group for record in records)
            yield from self._promote.promote_next((claim.queue, group) for group in claim.gone(rows))
        if claim.apart:  # so that an error here is attributed to the right row
            yield from claim.after_bury()

    def _picked(self, claim: Claim, line: PriorityLine) -> Plan[dict[int, datetime]]:
        """Lock as many due rows of a line as are wanted; return their due times by id."""
        context = self.context
        read: Callable[[Any], Any] = context.dialect.read_moment  # for a damaged row, a driver may return text
        start = context.floors.start((claim.source, line))
        bound = self._from(start, claim, line)
        rows = yield context.step(self._pick(claim, line, start), bound)
        if rows:
            self._raise_floor(claim, line, start, rows, read(rows[-1][1]))
        if len(rows) < bound["limit_in"]:
            self._found_less(claim, line, start, bool(rows))
        taken = {one.id for one in claim.records}  # a lease may have ended meanwhile
        return {row[0]: read(row[1]) for row in rows if row[0] not in claim.passed and row[0] not in taken}

    def _heads(self, claim: Claim, line: PriorityLine) -> Plan[dict[int, datetime]]:
        """Lock due rows whose turn it is in their groups; put the others behind, so each is seen here only once."""
        context = self.context
        read: Callable[[Any], Any] = context.dialect.read_moment
        heads: dict[int, datetime] = {}
        seen: set[int] = set()
        while len(heads) < claim.left:
            start = context.floors.start((claim.source, line))
            bound = self._from(start, claim, line)
            bound["limit_in"] += MORE
            rows = yield context.step(self._pick(claim, line, start), bound)
            known = seen | claim.passed
            new = {row[0]: row for row in rows if row[0] not in known and row[2] not in claim.served}
            turn, behind = yield from self._judged(new)
            seen |= new.keys() - behind.keys()
            heads |= {id: read(new[id][1]) for id in turn}
            if turn:
                self._raise_floor(claim, line, start, rows, max(heads.values()))
            if not behind:
                if len(rows) < bound["limit_in"]:
                    self._found_less(claim, line, start, bool(rows))
                break
            yield from self._put_behind(claim, behind, new)
        return heads

    def _judged(self, rows: Mapping[int, Sequence[Any]]) -> Plan[tuple[list[int], dict[int, bool]]]:
        """Return the picked rows whose turn it is, and those that have to wait, with whether they were leased.

        A row whose blocker is being settled at this moment stays where it is.
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

    def _put_behind(self, claim: Claim, behind: Mapping[int, bool], rows: Mapping[int, Sequence[Any]]) -> Plan[None]:
        for chunk in self.context.chunks(sorted(behind)):
            yield from self._savepoints.apart(claim, chunk, partial(self._put_chunk_behind, claim))
        # A leased row held back its whole group, even rows that come before it.
        yield from self._promote.promote_next((claim.queue, rows[id][2]) for id, was_lent in behind.items() if was_lent)

    def _put_chunk_behind(self, claim: Claim, ids: Sequence[int]) -> Plan[None]:
        attempts = claim.values["attempts_in"]
        if claim.history is not None:
            yield from self._history.keep_lapsed(ids, claim.history, attempts)
        yield self.context.given(
            self.context.statements.groups.put_behind, ("id",), [(id,) for id in ids], {"attempts_in": attempts}
        )

    def _pick(self, claim: Claim, line: PriorityLine, start: Start) -> Statement:
        return self.context.statements.reserve.pick(line.grouped, start.due_at is not None, len(claim.kinds))

    def _from(self, start: Start, claim: Claim, line: PriorityLine) -> dict[str, Any]:
        bound = {
            **claim.values,
            "queue_in": claim.queue,
            "priority_in": line.priority,
            "limit_in": claim.left + len(claim.passed),
        }
        if claim.kinds:
            bound |= of_kinds(claim.kinds)
        if start.due_at is not None:
            bound["floor"] = self.context.dialect.write_moment(start.due_at)
        return bound

    def _raise_floor(self, claim: Claim, line: PriorityLine, start: Start, rows: Rows, newest: Any) -> None:
        if self.context.floors.kept:
            self.context.floors.claimed((claim.source, line), start, oldest=moment(rows[0][-1]), newest=newest)

    def _found_less(self, claim: Claim, line: PriorityLine, start: Start, some: bool) -> None:
        """Note that a line had fewer rows than wanted, either above its floor or in total."""
        if not some:
            self.context.floors.found_none((claim.source, line), start)
        if start.due_at is not None:
            claim.floored.add(line)
        elif not (some or claim.kinds):
            self.context.priorities.found_empty(claim.queue, line)
