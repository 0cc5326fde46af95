"""The statements of the SQL stores: what hands messages out: reserve, pop, and the order of groups."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, lru_cache
from typing import Any, Final

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Integer,
    Select,
    Text,
    and_,
    case,
    func,
    null,
    select,
)
from sqlalchemy.sql.base import Executable

from duerow.stores.sql.dialects.base import const
from duerow.stores.sql.statements.core import (
    OUTLINE,
    RECEIPT,
    RECORD,
    CoreStatements,
    OverRows,
    Statement,
    live,
)
from duerow.stores.sql.statements.in_parts import ForEach

MOST_VARIANTS: Final = 16
"""Statements that are kept of each kind of claim: from a floor or not, for 1, 2, 4, … kinds or any."""


class ReserveStatements(CoreStatements):
    """What hands messages out: reserve, pop, and the order of groups."""

    @lru_cache(maxsize=MOST_VARIANTS)  # noqa: B019 - lives as long as the store
    def reserve(self, from_floor: bool, kinds: int = 0) -> Statement:
        """Lend the oldest due rows of a line without groups: leased until now + lease, or dead if used up.

        With `from_floor` rows due before the bound value `floor` are not looked at. Each row comes with the due time
        of the oldest row that was due when the statement began, lent or not: the floor for the next one. With
        `kinds` only rows of so many kinds are looked at.
        """
        due = self._due_ids(from_floor, kinds)
        which = self._is_among(due)
        answer = [*self._lent, *self._oldest(False, from_floor, kinds)]
        return Statement(self.dialect.change_picked(self.message, due, which, self._lend, answer))

    @lru_cache(maxsize=MOST_VARIANTS)  # noqa: B019 - lives as long as the store
    def lend_unread(self, from_floor: bool, kinds: int = 0) -> Statement:
        """As `reserve`, but return no more than who was lent, and the due time it had; and the floor."""
        due = self._due_ids(from_floor, kinds)
        which = [self.dialect.one_of(self.message.c.id, due)]
        answer = [*self._unread, *self._oldest(False, from_floor, kinds)]
        return Statement(self.dialect.change_picked(self.message, due, which, self._lend, answer))

    @cached_property
    def lend_picked_unread(self) -> OverRows:
        """As `lend`, but return no more than who was lent, the due time it had, and its group."""
        columns = self.message.c

        def build(given: Any) -> Executable:
            answer = [*self._unread, columns.group]
            return self.dialect.change(self.message, [columns.id == given.c.id], self._lend, answer, given)

        return self._over(("id",), build)

    @cached_property
    def leased_range(self) -> Statement:
        """Read the messages of a range of ids that a claim holds; the planner is to see nothing but the range."""
        columns = self.message.c
        ids = columns.id.between(self._bound("first_in", BigInteger()), self._bound("last_in", BigInteger()))
        its = self.dialect.same(columns.leased_by, self._bound("consumer", Text()))
        found = select(*self._record).where(ids, its, self.dialect.same(columns.queue, self._bound("queue_in", Text())))
        return Statement(found.order_by(columns.id).limit(self._bound("limit_in", Integer())))

    @cached_property
    def message_headers(self) -> OverRows:
        """Read the rows of a queue whose token matches, as OUTLINE."""
        columns = self.message.c
        shown = [self._record[RECORD.index(name)] for name in OUTLINE]

        def build(given: Any) -> Executable:
            ours = and_(columns.id == given.c.id, self.dialect.same(columns.token, given.c.token))
            return select(*shown).join_from(given, self.message, ours).where(self._of_queue)

        return self._over(RECEIPT, build)

    @lru_cache(maxsize=MOST_VARIANTS)  # noqa: B019 - lives as long as the store
    def pop(self, from_floor: bool, kinds: int = 0) -> Statement:
        """Take the oldest due rows of a line without groups away; each with the time, and the floor as in `reserve`."""
        due = self._due_ids(from_floor, kinds)
        which = [self.dialect.one_of(self.message.c.id, due)]
        answer = [*self._record, self.now, *self._oldest(False, from_floor, kinds)]
        return Statement(self.dialect.remove_picked(self.message, due, which, answer))

    @lru_cache(maxsize=2 * MOST_VARIANTS)  # noqa: B019 - lives as long as the store
    def pick(self, grouped: bool, from_floor: bool, kinds: int = 0) -> Statement:
        """Lock the oldest due rows of a line and read their id, due time and group, and the floor as in `reserve`."""
        columns = self.message.c
        shown = (columns.id, columns.due_at, columns.group, *self._oldest(grouped, from_floor, kinds))
        return Statement(self._first_due(shown, grouped, from_floor, kinds))

    @cached_property
    def lend(self) -> OverRows:
        """Lend rows that were picked, as `reserve` does; of two of a group lent at once the second one fails."""
        columns = self.message.c

        def build(given: Any) -> Executable:
            answer = [*self._lent, columns.priority, columns.group]
            return self.dialect.change(self.message, [columns.id == given.c.id], self._lend, answer, given)

        return self._over(("id",), build)

    @cached_property
    def take(self) -> OverRows:
        """Take rows that were picked away, as `pop` does."""

        def build(given: Any) -> Executable:
            return self.dialect.remove(self.message, given, ("id",), returning=[*self._record, self.now])

        return self._over(("id",), build)

    @cached_property
    def blockers(self) -> OverRows:
        """Read who keeps rows of groups back, each as id: one with a lower id, one that is lent; null: nobody.

        Each is read a second time with a lock that its settlement waits for, null if that is under way: whoever puts
        a row behind another one holds that one until the row is known to wait for it.
        """
        columns = self.message.c
        other = self.message.alias("other")
        id = other.c.id
        group = select(id).where(*self._of_group(other, columns)).correlate(self.message)
        before = [self.dialect.below(group, id, columns.id, held) for held in (False, True)]
        leased = select(id).where(*self._lent_of_group(other, columns), id != columns.id).limit(const(1))
        leased = leased.correlate(self.message)
        lent = [one.scalar_subquery() for one in (leased, leased.with_for_update(read=True, skip_locked=True))]

        def build(given: Any) -> Executable:
            shown = [columns.id, columns.leased_by.is_not(None), before[0], lent[0], before[1], lent[1]]
            return self.dialect.joined(select(*shown), given, self.message, columns.id == given.c.id)

        return self._over(("id",), build)

    @cached_property
    def put_behind(self) -> OverRows:
        """Take rows of groups out of the line until it is their turn; a turn whose lease ended is over."""
        columns = self.message.c
        error = self.dialect.ended_lease(self.message, self._bound("attempts_in", Integer()))
        unsettled = columns.leased_until.is_not(None)

        def build(given: Any) -> Executable:
            values = {
                "due_at": null(),
                "behind_at": columns.due_at,
                "last_error": case((unsettled, error), else_=columns.last_error),
                **self._turned,
                # One that only waits keeps its token: whoever read it may still change it.
                "token": columns.token + case((unsettled, const(1)), else_=const(0)),
            }
            return self.dialect.change(self.message, [columns.id == given.c.id], values, given=given)

        return self._over(("id",), build)

    @cached_property
    def take_turns(self) -> OverRows:
        """Mark rows of groups that are to be taken away as lent, so that nobody lends others of their groups."""
        columns = self.message.c

        def build(given: Any) -> Executable:
            return self.dialect.change(
                self.message, [columns.id == given.c.id], {"leased_by": const("taken away")}, given=given
            )

        return self._over(("id",), build)

    @cached_property
    def promote_next(self) -> OverRows:
        """Put the first of each given group into the line, if it is not; return the queues and due times."""
        columns = self.message.c
        other = self.message.alias("other")

        def build(given: Any) -> Executable:
            first = select(other.c.id).where(*self._of_group(other, given.c)).order_by(other.c.id).limit(const(1))
            ids = select(first.correlate(given).scalar_subquery().label("id")).select_from(given)
            # Not only where it is behind: who puts it there at this moment is waited for, or ends this transaction.
            free = columns.leased_by.is_(None)
            firsts = ids.subquery("first")
            match = columns.id == firsts.c.id
            picked = self.dialect.joined(select(columns.id), firsts, self.message, match).where(free).with_for_update()
            due = func.coalesce(columns.behind_at, columns.due_at, type_=self.dialect.moment)
            values, answer = {"due_at": due, "behind_at": null()}, [columns.queue, columns.due_at]
            return self.dialect.change_picked(self.message, picked, [columns.id.in_(ids), free], values, answer)

        return self._over(("queue", "group"), build)

    @cached_property
    def further_lines(self) -> OverRows:
        """Read the lowest priority in use between the given ones, in groups or not; null: none. And if it is paused."""
        columns, names = self.message.c, ("grouped", "low", "high")

        def asked(given: Any) -> Select[Any]:
            def lowest(grouped: bool) -> Any:
                between = (columns.priority > given.low, columns.priority < given.high)
                in_line = (columns.due_at.is_not(None), self._in_group(grouped))
                found = self.dialect.first(columns.priority, self._of_queue, *between, *in_line)
                return found.correlate_except(self.message).scalar_subquery()

            return select(given.grouped, case((given.grouped, lowest(True)), else_=lowest(False)), self._paused)

        if self.dialect.ranges_by_rows:
            return self._over(names, lambda given: asked(given.c).select_from(given))
        return ForEach(self.dialect, names, asked)

    @lru_cache(maxsize=MOST_VARIANTS)  # noqa: B019 - lives as long as the store
    def next_due(self, kinds: int = 0) -> OverRows:
        """Read when the next of each given line is due, of those due from the bound `floor` on; and the time.

        With `kinds` only rows of so many kinds are looked at.
        """
        columns = self.message.c

        def build(given: Any) -> Executable:
            def first(grouped: bool) -> Any:
                in_line = (columns.due_at >= self._bound("floor", self.dialect.moment), self._in_group(grouped))
                line = (self._of_queue, columns.priority == given.c.priority, *self._of_kinds(kinds))
                return self.dialect.first(columns.due_at, *line, *in_line).correlate(given).scalar_subquery()

            found = case((given.c.grouped, first(True)), else_=first(False))
            return select(found, self.now).select_from(given)

        return self._over(("grouped", "priority"), build)

    @property
    def _unread(self) -> tuple[ColumnElement[Any], ...]:
        """The columns of UNREAD."""
        columns = self.message.c
        return (columns.id, columns.token, columns.status, columns.place_at)

    @cached_property
    def _lend(self) -> dict[str, Any]:
        """What every row is given that is lent, or buried since its attempts are used up."""
        columns = self.message.c
        attempts = self._bound("attempts_in", Integer())
        unsettled = self._unsettled
        used_up = and_(unsettled, columns.attempts >= attempts)
        until = self.lease_end
        error = self.dialect.ended_lease(self.message, attempts)
        return {
            "status": case((used_up, const("dead")), else_=self._lent_status),
            "due_at": case((used_up, null()), else_=until),
            "place_at": columns.due_at,
            "attempts": columns.attempts + case((used_up, const(0)), else_=const(1)),
            "token": columns.token + const(1),
            "leased_by": case((used_up, null()), else_=self._bound("consumer", Text())),
            "leased_until": case((used_up, null()), else_=until),
            "last_attempt_at": case((used_up, columns.last_attempt_at), else_=self.now),
            "last_error": case((unsettled, error), else_=columns.last_error),
            **self._finished(case((used_up, self.now), else_=null())),
        }

    @property
    def _unsettled(self) -> ColumnElement[bool]:
        """A row still carries the lease of a turn that nobody ended."""
        return self.message.c.leased_until.is_not(None)

    @property
    def _lent_status(self) -> ColumnElement[Any]:
        """The status of a row that is handed out; one that nobody could be handed is called done, which shows."""
        status = self.message.c.status
        return case((live(self.message), status), else_=const("done"))

    def _is_among(self, found: Select[Any]) -> Sequence[ColumnElement[bool]]:
        """Return that a row is one of those whose ids a query finds."""
        return (self.dialect.one_of(self.message.c.id, found),)

    def _due_ids(self, from_floor: bool, kinds: int) -> Select[Any]:
        return self._first_due(self._ids, False, from_floor, kinds)

    def _first_due(
        self, shown: Sequence[ColumnElement[Any]], grouped: bool, from_floor: bool, kinds: int
    ) -> Select[Any]:
        columns = self.message.c
        which = (*self._due_rows(grouped, from_floor), *self._of_kinds(kinds))
        due = select(*shown).where(*which).order_by(columns.due_at, *self._ids)
        due = self.dialect.by_line(due, self.message, grouped)
        return due.limit(self._bound("limit_in", Integer())).with_for_update(skip_locked=True, key_share=self.key_share)

    def _oldest(self, grouped: bool, from_floor: bool, kinds: int) -> list[Any]:
        if not self.dialect.keeps_dead_entries:
            return []
        rows = self.message.alias("oldest")
        due = (*self._due_rows(grouped, from_floor, rows), *self._of_kinds(kinds, rows))
        return [self.dialect.microseconds(select(func.min(rows.c.due_at)).where(*due).scalar_subquery())]

    def _of_kinds(self, kinds: int, rows: Any = None) -> list[ColumnElement[bool]]:
        """Rows of one of so many bound kinds; 0: of any."""
        if not kinds:
            return []
        column = (self.message if rows is None else rows).c.kind
        return [column.in_([self._bound(name, Text()) for name in kinds_in(kinds)])]


def kinds_in(kinds: int) -> list[str]:
    """Return the names of the bound values of a statement that looks at so many kinds."""
    return [f"kind_{place}_in" for place in range(kinds)]
