"""Stage entries, and publish them in the transaction that ends the turns they came from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

import msgspec

from duerow.errors import BatchRefused, StagedLost
from duerow.message import OnDuplicate
from duerow.plan import BEGIN, Plan
from duerow.store import Entry, Published, Retention, Turn
from duerow.stores.sql.plans.context import Context, Plans
from duerow.stores.sql.plans.history import HistoryPlans
from duerow.stores.sql.plans.promote import PromotePlans
from duerow.stores.sql.plans.push import PushPlans, entry_size
from duerow.stores.sql.plans.settle import SettlePlans
from duerow.stores.sql.priorities import PriorityLine
from duerow.stores.sql.statements import STAGED

_encode = msgspec.json.Encoder().encode


class _Staging(msgspec.Struct, frozen=True, gc=False):
    """The entries that a part of a batch staged at one time."""

    id: int
    part: str
    entries: int
    keyed: bool
    grouped: bool
    lines: list[tuple[str, int, bool]]
    due: datetime | None


class StagePlans(Plans):
    """Plans for batches.

    Args:
        context: shared by all plans of the store.
        push: adds messages, and finds the holders of keys.
        settle: ends turns.
        history: writes the history, and remembers keys.
        promote: puts the next message of a group in line, and wakes consumers.
    """

    def __init__(
        self, context: Context, push: PushPlans, settle: SettlePlans, history: HistoryPlans, promote: PromotePlans
    ) -> None:
        super().__init__(context)
        self._push, self._settle, self._history, self._promote = push, settle, history, promote

    def stage(self, batch: str, part: str, entries: Sequence[Entry]) -> Plan[None]:
        """Stage entries, which stay invisible until they are published; see BulkStore.stage."""
        context = self.context
        if not entries:
            return
        yield BEGIN
        ((id,),) = yield context.step(context.statements.stage.note_staging, self._about(batch, part, entries))
        place = 0
        for chunk in context.chunks(entries, entry_size):
            rows = [(id, place + number, *context.row(entry)) for number, entry in enumerate(chunk)]
            yield context.given(context.statements.stage.stage, STAGED, rows)
            place += len(chunk)

    def publish(
        self,
        batch: str,
        parts: Mapping[str, int],
        turns: Sequence[Turn] = (),
        on_duplicate: OnDuplicate = "ignore",
        once: str | None = None,
        keep: Retention | None = None,
    ) -> Plan[Published]:
        """Publish a batch; see BulkStore.publish."""
        yield BEGIN
        if once is not None and not (yield from self._push.note_once(once)):
            return Published(True, 0)
        # A concurrent publish of the same batch waits here, and then finds nothing left.
        stagings = yield from self._stagings(batch)
        chosen = _chosen(batch, parts, stagings)
        queues = sorted({queue for one in chosen for queue, _, _ in one.lines})
        if queues:
            yield from self._push.ask(queues)
        if turns and (refused := (yield from self._settle.settle(turns, keep))):
            raise BatchRefused(batch, refused)
        for one in chosen:
            yield from self._publish(one, on_duplicate)
        yield from self._history.forget_stagings([one.id for one in stagings])
        yield from self._promote.wake(queues)
        return Published(False, sum(one.entries for one in chosen))

    def discard(self, batch: str) -> Plan[None]:
        """Discard the entries that a batch staged; see BulkStore.discard."""
        yield BEGIN
        stagings = yield from self._stagings(batch)
        yield from self._history.forget_stagings([one.id for one in stagings])

    def _about(self, batch: str, part: str, entries: Sequence[Entry]) -> dict[str, Any]:
        """Return a summary of entries, so that publishing does not have to read them."""
        lines = sorted({(entry.queue, entry.priority, entry.group is not None) for entry in entries})
        due = min((entry.due for entry in entries if entry.due is not None), default=None)
        return {
            "batch_in": batch,
            "part_in": part,
            "entries_in": len(entries),
            "keyed_in": any(entry.key is not None for entry in entries),
            "grouped_in": any(grouped for _, _, grouped in lines),
            "lines_in": _encode(lines).decode(),
            "due_in": self.context.dialect.write_moment(due),
        }

    def _stagings(self, batch: str) -> Plan[list[_Staging]]:
        context = self.context
        rows = yield context.step(context.statements.stage.stagings, {"batch_in": batch})
        read, decode = context.dialect.read_moment, msgspec.json.decode
        return [
            _Staging(
                id,
                part,
                entries,
                bool(keyed),
                bool(grouped),
                decode(lines, type=list[tuple[str, int, bool]]),
                read(due),
            )
            for id, part, entries, keyed, grouped, lines, due in rows
        ]

    def _publish(self, staging: _Staging, on_duplicate: OnDuplicate) -> Plan[None]:
        """Push one staging inside the database; if its entries may change holders of keys, read and push them."""
        context = self.context
        context.floors.written()
        context.floors.lower(staging.due)
        for queue, priority, grouped in staging.lines:
            if priority or grouped:
                context.priorities.add(queue, [PriorityLine(priority, grouped)])
        if not staging.keyed or on_duplicate == "ignore":
            # With keys, the first entry of a group may be skipped, so no entry may be put behind it.
            grouped = staging.grouped and not staging.keyed
            yield context.step(context.statements.stage.publish(staging.keyed, grouped), {"staging_in": staging.id})
            return
        limit = context.dialect.chunk
        for place in range(0, staging.entries, limit):
            values = {"staging_in": staging.id, "place_in": place, "limit_in": limit}
            rows = yield context.step(context.statements.stage.staged, values)
            yield from self._push.add([self._entry(row) for row in rows], on_duplicate)

    def _entry(self, row: Sequence[Any]) -> Entry:
        """Return a row, with the columns of ENTRY without the id, as an entry."""
        queue, key, kind, payload, headers, group, priority, due, delay = row
        span = None if delay is None else timedelta(microseconds=delay)
        return Entry(queue, key, kind, payload, headers, self.context.dialect.read_moment(due), span, group, priority)


def _chosen(batch: str, parts: Mapping[str, int], stagings: Sequence[_Staging]) -> list[_Staging]:
    """Return the stagings of these parts, in order; raise StagedLost if a part's number of entries is wrong."""
    of_part: dict[str, list[_Staging]] = {part: [] for part in parts}
    for one in stagings:
        if one.part in of_part:
            of_part[one.part].append(one)
    for part, wanted in parts.items():
        found = sum(one.entries for one in of_part[part])
        if found != wanted:
            raise StagedLost(batch, part, wanted, found)
    return [one for its in of_part.values() for one in its]
