"""Statements that hand messages out: reserve, pop, and when the next one is due."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, lru_cache
from typing import Any

from sqlalchemy import BigInteger, Select, case, delete, exists, null, select
from sqlalchemy.sql.base import Executable

from duerow.errors import NotSupported
from duerow.stores.sql.statements.core import IN_GAP, IN_LINE, LENT, RECEIPT, OverRows, Statement
from duerow.stores.sql.statements.due_rows import MOST_VARIANTS, DueRowStatements


class ReserveStatements(DueRowStatements):
    """Statements that hand messages out: reserve, pop, and when the next one is due."""

    @lru_cache(maxsize=MOST_VARIANTS)  # noqa: B019 - lives as long as the store
    def reserve(self, from_floor: bool, kinds: int = 0) -> Statement:
        """Lease the oldest due rows of a line without groups until now + lease, or bury them if attempts are used up.

        With `from_floor`, rows due before the bound value `floor` are skipped. Each row comes with the floor for the
        next claim: the due time of the oldest row that was due when the statement began, leased or not. With `kinds`,
        only rows of that many bound kinds are read.
        """
        return Statement(self._lease(*self._due_ids(from_floor, kinds)))

    def _lease(self, due: Select[Any], floor: Sequence[Any]) -> Any:
        which = self.context.is_among(due)
        return self.dialect.change_picked(self.message, due, which, self._lend, [*self.context.lent, *floor])

    @lru_cache(maxsize=MOST_VARIANTS)  # noqa: B019 - lives as long as the store
    def commit_and_reserve(self, from_floor: bool, kinds: int = 0) -> Statement:
        """Delete the row of a receipt if its token matches and nobody has locked it; if so, lease as `reserve` does.

        After the leased rows comes the receipt of the deleted one, with null in all other columns. Without it, there
        are no rows at all. Nothing here waits for other transactions, so the leases are as long as they should be, and
        no row stays locked.

        Raises:
            NotSupported: the database has no such statements.
        """
        if not self.dialect.writes_in_parts:
            raise NotSupported(f"{self.dialect.name} cannot delete and lease in one statement")
        columns = self.message.c
        id, token = self.bound("id_in", BigInteger()), self.bound("token_in", BigInteger())
        ours = select(columns.id).where(columns.id == id, columns.token == token)
        ours = ours.with_for_update(skip_locked=True, key_share=self.context.key_share)
        committed = delete(self.message).where(columns.id == ours.scalar_subquery())
        ended = committed.returning(*(columns[name] for name in RECEIPT)).cte("ended")
        due, floor = self._due_ids(from_floor, kinds)
        lent = self._lease(due.where(columns.id != id, exists(select(ended.c.id))), floor).cte("lent")
        given = {LENT.index(name): ended.c[name] for name in RECEIPT}
        receipt = select(*(given.get(place, null()) for place in range(len(lent.c))))
        return Statement(select(lent).union_all(receipt), writes=True)

    @lru_cache(maxsize=MOST_VARIANTS)  # noqa: B019 - lives as long as the store
    def pop(self, from_floor: bool, kinds: int = 0) -> Statement:
        """Delete the oldest due rows of a line without groups; each comes with the time and the floor of `reserve`."""
        due, floor = self._due_ids(from_floor, kinds)
        which = [self.dialect.one_of(self.message.c.id, due)]
        answer = [*self.context.record, self.now, *floor]
        return Statement(self.dialect.remove_picked(self.message, due, which, answer))

    @lru_cache(maxsize=2 * MOST_VARIANTS)  # noqa: B019 - lives as long as the store
    def pick(self, grouped: bool, from_floor: bool, kinds: int = 0) -> Statement:
        """Lock the oldest due rows of a line; read their id, due time and group, and the floor as in `reserve`."""
        columns = self.message.c
        due, floor = self._first_due((columns.id, columns.due_at, columns.group), grouped, from_floor, kinds)
        return Statement(due.add_columns(*floor))

    @cached_property
    def lend(self) -> OverRows:
        """Lease picked rows, as `reserve` does; if two rows of a group are leased at once, the second lease fails."""
        columns = self.message.c

        def build(given: Any) -> Executable:
            answer = [*self.context.lent, columns.priority, columns.group]
            return self.dialect.change(self.message, self.context.same_row(given), self._lend, answer, given)

        return self.over(("id",), build)

    @cached_property
    def take(self) -> OverRows:
        """Delete picked rows, as `pop` does."""

        def build(given: Any) -> Executable:
            return self.dialect.remove(self.message, given, ("id",), returning=[*self.context.record, self.now])

        return self.over(("id",), build)

    @cached_property
    def further_lines(self) -> OverRows:
        """Read the lowest priority in use in each given gap, in groups or not, and whether its queue is paused."""
        columns = self.message.c

        def asked(given: Any) -> Select[Any]:
            def lowest(grouped: bool) -> Any:
                between = (columns.priority > given.low, columns.priority < given.high)
                in_line = (columns.due_at.is_not(None), self.context.in_group(grouped))
                found = self.dialect.first(columns.priority, columns.queue == given.queue, *between, *in_line)
                return found.correlate_except(self.message).scalar_subquery()

            found = case((given.grouped, lowest(True)), else_=lowest(False))
            return select(given.queue, given.grouped, found, self.context.is_paused(given.queue))

        if self.dialect.ranges_by_rows:
            return self.over(IN_GAP, lambda given: asked(given.c).select_from(given))
        return self.for_each(IN_GAP, asked)

    @lru_cache(maxsize=MOST_VARIANTS)  # noqa: B019 - lives as long as the store
    def next_due(self, kinds: int = 0) -> OverRows:
        """Read the next due time of each given line of a queue from the bound `floor` on, and the time.

        With `kinds`, only rows of that many bound kinds are read.
        """
        columns = self.message.c

        def build(given: Any) -> Executable:
            def first(grouped: bool) -> Any:
                in_line = (
                    columns.due_at >= self.context.unseen("floor", self.dialect.moment),
                    self.context.in_group(grouped),
                )
                line = (columns.queue == given.c.queue, columns.priority == given.c.priority, *self._of_kinds(kinds))
                return self.dialect.first(columns.due_at, *line, *in_line).correlate(given).scalar_subquery()

            found = case((given.c.grouped, first(True)), else_=first(False))
            return select(given.c.queue, found, self.now).select_from(given)

        return self.over(IN_LINE, build)
