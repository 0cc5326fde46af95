"""Lend due messages without reading them, and read the messages of a claim by id."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any, Final

import msgspec

from duerow.plan import BEGIN, Plan
from duerow.reservation import Receipt
from duerow.store import Lease, MessageHeader, Record, Retention
from duerow.stores.sql.plans.claim import ClaimPlans
from duerow.stores.sql.plans.claim_progress import Claim, Rows, Used
from duerow.stores.sql.plans.context import Context, Plans
from duerow.stores.sql.plans.history import HistoryPlans
from duerow.stores.sql.plans.reserve import ReservePlans, given_up
from duerow.stores.sql.priorities import PriorityLine
from duerow.stores.sql.statements import RECEIPT

_STATUS: Final = 2


class LendPlans(Plans):
    """Plans for batches that are lent to engines with many readers.

    Args:
        context: shared by all plans of the store.
        reserve: handles buried messages.
        claims: takes due rows.
        history: writes the history, and remembers keys.
    """

    def __init__(self, context: Context, reserve: ReservePlans, claims: ClaimPlans, history: HistoryPlans) -> None:
        super().__init__(context)
        self._reserve, self._claims, self._history = reserve, claims, history

    def lend(
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
    ) -> Plan[Lease]:
        """Lend due messages; see BulkStore.lend."""
        context = self.context
        statements = context.statements
        values = {"attempts_in": attempts, "lease": context.dialect.write_span(lease), "consumer": consumer}
        if context.dialect.writes_alone or dead_letter is not None or keep is not None:
            yield BEGIN  # as in `reserve`
        claim = _Unread(
            queue,
            limit,
            statements.lend.lend_unread,
            statements.lend.lend_picked_unread,
            self._unread,
            _groups_of_dead,
            values,
            kinds,
        )
        claim.apart = apart

        def leave(used: Sequence[tuple[int, int]]) -> Plan[None]:
            buried = yield from self._used(used)
            yield from self._reserve.after_bury(queue, buried, dead_letter, keep)
            claim.given += given_up(buried)

        claim.leave = leave
        if keep is not None and (history := keep.history) is not None:
            claim.history = history
            claim.over = lambda ids: self._history.keep_lapsed(ids, history, attempts, buries=True, to=dead_letter)
        yield from self._claims.carry_out(claim)
        yield from claim.after_bury()
        lent: list[_LentRow] = sorted(claim.records, key=_id)
        groups = {one.id: one.group for one in lent if one.group is not None}
        return Lease([Receipt(one.id, one.token) for one in lent], groups, claim.given)

    def _unread(self, rows: Rows, line: PriorityLine) -> list[_LentRow]:
        """Return the rows that were lent, without those that were buried."""
        read: Callable[[Any], Any] = self.context.dialect.read_moment
        priority = line.priority
        return [
            _LentRow(id, token, read(place), priority, more[0] if line.grouped else None)
            for id, token, status, place, *more in rows
            if status != "dead"
        ]

    def _used(self, dead: Sequence[tuple[int, int]]) -> Plan[list[Used]]:
        """Read messages that were just buried."""
        context = self.context
        used: list[Used] = []
        for chunk in context.chunks(sorted(dead)):
            for row in (yield context.given(context.statements.settle.owned, RECEIPT, chunk)):
                one = context.dialect.record(row)
                used.append(
                    Used(one.id, one.token, one.key, one.headers, one.attempts, one.last_error, one.priority, one.group)
                )
        return used

    def leased_range(self, queue: str, consumer: str, first: int, last: int, limit: int) -> Plan[list[Record]]:
        """Read the messages that a claim holds; see BulkStore.leased_range."""
        context = self.context
        values = {"queue_in": queue, "consumer": consumer, "first_in": first, "last_in": last, "limit_in": limit}
        rows = yield context.step(context.statements.lend.leased_range, values)
        return [context.dialect.record(row) for row in rows]

    def message_headers(self, queue: str, receipts: Sequence[Receipt]) -> Plan[list[MessageHeader]]:
        """Read messages without their payloads; see BulkStore.message_headers."""
        context = self.context
        found: list[MessageHeader] = []
        for chunk in context.chunks(sorted({(receipt.id, receipt.token) for receipt in receipts})):
            rows = yield context.given(context.statements.lend.message_headers, RECEIPT, chunk, {"queue_in": queue})
            found += [MessageHeader(*row) for row in rows]
        return found


class _LentRow(msgspec.Struct, frozen=True, gc=False):
    """The columns of a lent message that are read."""

    id: int
    token: int
    due_at: datetime
    priority: int
    group: str | None


class _Unread(Claim):
    """A call that lends messages without reading them; for buried messages, only the receipts are known."""

    def add(self, records: Sequence[Any], rows: Rows, line: PriorityLine) -> None:
        """Add the rows that a statement lent or buried."""
        self.take(records, rows)
        self.rows += len(rows)
        if len(records) < len(rows):
            self.buried += [(row[0], row[1]) for row in rows if row[_STATUS] == "dead"]


def _groups_of_dead(rows: Rows) -> Iterable[str]:
    return (row[-1] for row in rows if row[_STATUS] == "dead")


def _id(one: _LentRow) -> int:
    return one.id
