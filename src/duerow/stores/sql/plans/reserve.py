"""Reserve due messages, or pop them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from datetime import timedelta
from operator import attrgetter
from typing import Any, Final

import msgspec

from duerow.clock import FIRST, LAST, moment
from duerow.message import LIVE
from duerow.payload.codec import decode_failure
from duerow.plan import BEGIN, Plan, Several
from duerow.reservation import Receipt
from duerow.store import UNFIT, GivenUp, Moved, Record, Refused, Reserved, Retention, Turn, mended
from duerow.store.dead_letters import dead_letter as moved_to_dead_letters
from duerow.stores.sql.plans.claim import ClaimPlans
from duerow.stores.sql.plans.claim_progress import STATUS, Claim, Rows, Used
from duerow.stores.sql.plans.context import Context, Plans
from duerow.stores.sql.plans.history import HistoryPlans
from duerow.stores.sql.plans.promote import PromotePlans
from duerow.stores.sql.plans.savepoints import LOG
from duerow.stores.sql.plans.settle import SettlePlans, after_commit, only_commits
from duerow.stores.sql.priorities import PriorityLine
from duerow.stores.sql.statements import LENT, RECORD

_CREATED_AT: Final = LENT.index("created_at")
_IN_LINE: Final = (attrgetter("id"), attrgetter("due_at"), attrgetter("priority"))
_LEAST, _MOST = FIRST.year, LAST.year  # comparing years is fast; times in these two years are checked exactly
_GROUP: Final = RECORD.index("group")


class _Unsound(ValueError):
    """A row has a value that duerow never writes."""


class ReservePlans(Plans):
    """Plans that reserve or pop due messages.

    Args:
        context: shared by all plans of the store.
        claims: takes due rows.
        settle: ends turns.
        history: writes the history, and remembers keys.
        promote: puts the next message of a group in line, and wakes consumers.
    """

    def __init__(
        self, context: Context, claims: ClaimPlans, settle: SettlePlans, history: HistoryPlans, promote: PromotePlans
    ) -> None:
        super().__init__(context)
        self._claims, self._settle, self._history, self._promote = claims, settle, history, promote

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
        exact: bool = True,
    ) -> Plan[Reserved]:
        """Reserve due messages; see MessageStore.reserve."""
        if self.context.dialect.writes_alone or dead_letter is not None or keep is not None:
            # The time is read after the wait for other writers, so leases get their full length.
            yield BEGIN
        claim = self._claim(queue, limit, lease, attempts, consumer, dead_letter, keep, kinds)
        claim.apart, claim.exact = apart, exact
        yield from self._claims.carry_out(claim)
        yield from claim.after_bury()
        return Reserved(_in_line(claim.records), claim.given)

    def settle_and_reserve(
        self,
        turns: Sequence[Turn],
        queue: str,
        limit: int,
        lease: timedelta,
        attempts: int | None,
        consumer: str,
        dead_letter: str | None = None,
        keep: Retention | None = None,
        kinds: Collection[str] | None = None,
    ) -> Plan[tuple[list[Refused], Reserved] | None]:
        """End turns and reserve due messages; see SettlesAndReserves.

        Where only one transaction writes at a time, everything is done in one. Otherwise only what takes one statement
        each. Two statements are sent together if the driver can, and a claim never waits, so no row stays locked for
        long. One statement that does both changes nothing if it would have to wait, or if the turn is lost.
        """
        if self.context.dialect.writes_alone:
            yield BEGIN
            refused = yield from self._settle.settle(turns, keep)
            reserved = yield from self.reserve(queue, limit, lease, attempts, consumer, dead_letter, keep, kinds)
            return refused, reserved
        if dead_letter is not None or keep is not None or len(turns) > self.context.dialect.chunk:
            return None
        claim = self._claim(queue, limit, lease, attempts, consumer, None, None, kinds)
        one = turns[0].receipt if len(turns) == 1 and self.context.dialect.writes_in_parts else None
        if one is not None:
            claim.at_once = self.context.statements.reserve.commit_and_reserve
            claim.values = {**claim.values, "id_in": one.id, "token_in": one.token}
        only = self._claims.only_step(claim) if only_commits(turns) else None
        if only is None:
            return None
        step, take = only
        if one is None:
            ended, rows = yield Several([self._settle.commit_step(turns), step], alone=True)
            refused = after_commit(turns, ended)
        else:
            # Claims of others lock rows for a moment, even rows that turn out to be leased.
            both = (yield step) or (yield step)
            if not both:
                return None
            rows, refused = [row for row in both if row[STATUS] is not None], []  # without the receipt
        take(rows)
        yield from claim.after_bury()
        return refused, Reserved(_in_line(claim.records), claim.given)

    def _claim(
        self,
        queue: str,
        limit: int,
        lease: timedelta,
        attempts: int | None,
        consumer: str,
        dead_letter: str | None,
        keep: Retention | None,
        kinds: Collection[str] | None,
    ) -> Claim:
        """Return a claim that has not begun, with the arguments of `reserve`."""

        def lent(rows: Rows, line: PriorityLine) -> list[Record]:
            return self._lent(rows, queue, line, lease, consumer)

        def buried(rows: Rows) -> Iterable[str]:
            return (row[-1] for row in rows if row[STATUS] == "dead")

        def leave(used: Sequence[Used]) -> Plan[None]:
            yield from self.after_bury(queue, used, dead_letter, keep)
            claim.given += given_up(used)

        statements = self.context.statements.reserve
        values = {"attempts_in": attempts, "lease": self.context.dialect.write_span(lease), "consumer": consumer}
        claim = Claim(queue, limit, statements.reserve, statements.lend, lent, buried, values, kinds)
        claim.leave = leave
        if keep is not None and (history := keep.history) is not None:
            claim.history = history
            claim.over = lambda ids: self._history.keep_lapsed(ids, history, attempts, buries=True, to=dead_letter)
        return claim

    def after_bury(
        self, queue: str, buried: Sequence[Used], dead_letter: str | None, keep: Retention | None
    ) -> Plan[None]:
        """Remember the keys of buried messages, and move the messages to the dead-letter queue if there is one."""
        if keep is not None:
            yield from self._history.remember([(queue, one.key, one.id) for one in buried], keep)
        if dead_letter is not None and buried:
            yield from self._send_away(queue, dead_letter, buried)

    def _send_away(self, queue: str, to: str, buried: Sequence[Used]) -> Plan[None]:
        """Move buried messages to a dead-letter queue."""
        context = self.context
        read: Callable[[Any], Any] = context.dialect.read_moment
        now = read((yield context.step(context.statements.read.time, {}))[0][0])
        items: list[tuple[int, Turn]] = []
        for id, token, key, headers, attempts, error, priority, group in buried:
            why = decode_failure(error)
            reason = "" if why is None else why.message
            letter = moved_to_dead_letters(to, queue, key, headers, attempts, reason, now, group, priority)
            items.append((0, Turn(Receipt(id, token), letter)))
        yield from self._settle.end(items, Moved, {})
        yield from self._promote.wake([to])

    def _lent(self, rows: Rows, queue: str, line: PriorityLine, lease: timedelta, consumer: str) -> list[Record]:
        """Return the leased rows of LENT as records, without buried ones; damaged records are mended and marked."""
        if type(line.priority) is int and self.context.dialect.sound(rows):
            try:
                return self._lent_sound(rows, queue, line, lease, consumer)
            except UNFIT:
                pass  # reading the rows one by one finds the damaged one
        return [self._lent_odd(row, queue, line, lease, consumer) for row in rows if row[STATUS] != "dead"]

    def _lent_sound(self, rows: Rows, queue: str, line: PriorityLine, lease: timedelta, consumer: str) -> list[Record]:
        """Like `_lent`, but raise an error of UNFIT if a row has a value that duerow never writes."""
        read = self.context.dialect.moment_reader(rows[0][_CREATED_AT])
        until = last_attempt_at = None
        records: list[Record] = []
        # The hottest loop of all. All leases end at the same time, and repeated moments are read as nulls.
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
        """Return one row of LENT as a record, even if its values are damaged."""
        read: Callable[[Any], Any] = self.context.dialect.read_moment
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
        """Pop due messages; see MessageStore.pop."""

        def popped(rows: Rows) -> Iterable[str]:
            return (row[_GROUP] for row in rows)

        statements = self.context.statements
        claim = Claim(
            queue,
            limit,
            statements.reserve.pop,
            statements.reserve.take,
            self._popped,
            popped,
            {"attempts_in": None},
            kinds,
        )
        claim.apart, claim.ends = apart, True
        if keep is not None and (history := keep.history) is not None:
            claim.history = history
            claim.over = lambda ids: self._history.keep_popped(ids, history)
        yield from self._claims.carry_out(claim)
        if keep is not None:
            yield from self._history.remember([(queue, record.key, record.id) for record in claim.records], keep)
        for one in claim.given:
            named = {"event": "buried", "queue": queue, "message_id": one.id, "key": one.key}
            text = "message %s of %s is buried because it could not be popped: %s"
            LOG.error(text, one.id, queue, one.error, extra=named)
        return _in_line(claim.records)

    def _popped(self, rows: Rows, line: PriorityLine) -> list[Record]:
        """Return rows of RECORD, each followed by the time, as the records of messages handed out now."""
        now = self.context.dialect.read_moment(rows[0][len(RECORD)])
        records = [self.context.dialect.record(row[: len(RECORD)]) for row in rows]
        return [
            msgspec.structs.replace(
                record, attempts=record.attempts + 1, last_attempt_at=now, leased_by=None, leased_until=None
            )
            for record in records
        ]


def _in_line(records: list[Record]) -> list[Record]:
    """Return the records by priority, due time and id; sorting three times avoids creating tuples as keys."""
    for key in _IN_LINE:
        records.sort(key=key)
    return records


def given_up(buried: Iterable[Used]) -> list[GivenUp]:
    """Return a claim's reports on the messages that it buried."""
    return [GivenUp(one.id, one.key, one.attempts, one.error) for one in buried]
