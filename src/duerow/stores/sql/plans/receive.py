"""Imports from another database: messages and finished turns, each exactly once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import timedelta
from typing import Any

from duerow.plan import BEGIN, Plan
from duerow.store import Arrival, Entry, HistoryRow, Reception, Record
from duerow.store.bulk import REFUSED
from duerow.stores.sql.plans.context import Context, Plans
from duerow.stores.sql.plans.promote import PromotePlans
from duerow.stores.sql.plans.push import Item, PushPlans
from duerow.stores.sql.priorities import PriorityLine
from duerow.stores.sql.statements import ARRIVED, PAST, TOLD


class ReceivePlans(Plans):
    """Plans that import from another database.

    Args:
        context: shared by all plans of the store.
        push: adds messages, and finds the holders of keys.
        promote: puts the next message of a group in line, and wakes consumers.
    """

    def __init__(self, context: Context, push: PushPlans, promote: PromotePlans) -> None:
        super().__init__(context)
        self._push, self._promote = push, promote

    def receive(
        self, arrivals: Sequence[Arrival], history: timedelta = timedelta(0), final: bool = False
    ) -> Plan[list[Reception]]:
        """Import messages and finished turns; see BulkStore.receive."""
        yield BEGIN
        lone = [one for one in arrivals if not isinstance(one.what, HistoryRow)]
        fresh = yield from self._note_all(one.name for one in lone)
        refused = yield from self._noted(one.name + REFUSED for one in lone if one.name not in fresh)
        ids = yield from self._new_ids([one.what for one in arrivals if one.what is not None])
        records = [one for one in lone if isinstance(one.what, Record)]
        refused |= yield from self._receive_messages([one for one in records if one.name in fresh], ids, final)
        kept_out = {one.what.id for one in records if one.what is not None and one.name + REFUSED in refused}
        turns = [one for one in arrivals if isinstance(one.what, HistoryRow) and one.what.id not in kept_out]
        fresh |= yield from self._receive_turns(turns, ids, history)
        refused |= {
            one.name + REFUSED for one in arrivals if isinstance(one.what, HistoryRow) and one.what.id in kept_out
        }
        return [_answer(one.name, fresh, refused) for one in arrivals]

    def _note_all(self, names: Iterable[str]) -> Plan[set[str]]:
        """Note names; return the new ones."""
        fresh: set[str] = set()
        for name in sorted(set(names)):
            if (yield self.context.step(self.context.statements.stage.note, {"name_in": name})):
                fresh.add(name)
        return fresh

    def _noted(self, names: Iterable[str]) -> Plan[set[str]]:
        context = self.context
        found: set[str] = set()
        for chunk in context.chunks(sorted(set(names))):
            rows = yield context.given(context.statements.receive.noted_of, ("name",), [(name,) for name in chunk])
            found |= {row[0] for row in rows}
        return found

    def _new_ids(self, those: Sequence[Record | HistoryRow]) -> Plan[dict[int, int]]:
        """Return a new id for each id from the other database, in the same order.

        A row with the highest new id is added and deleted again. Otherwise, if only turns are imported, nothing would
        record that the id is used, and a new message could get it.
        """
        old = sorted({what.id for what in those})
        if not old:
            return {}
        rows = yield self.context.step(self.context.statements.push.next_ids, {"count": len(old)})
        new = sorted(row[0] for row in rows)
        yield from self._push.insert([Item(0, new[-1], Entry(those[0].queue, None, "json", "null", None, None, None))])
        yield from self._push.take_back([new[-1]])
        return dict(zip(old, new, strict=True))

    def _receive_messages(self, arrivals: Sequence[Arrival], ids: dict[int, int], final: bool) -> Plan[set[str]]:
        """Add messages; return the names under which refusals are noted, for messages whose key is taken."""
        context = self.context
        records = {one.name: one.what for one in arrivals if isinstance(one.what, Record)}
        created: set[int] = set()
        self._note_arrivals(records.values())
        for chunk in context.chunks([*records.values()], _size):
            rows = [self._arrived(record, ids[record.id]) for record in chunk]
            created |= {
                row[0] for row in (yield context.given(context.statements.receive.insert_arrived, ARRIVED, rows))
            }
        yield from self._promote.wake(record.queue for record in records.values())
        refused = sorted(name for name, record in records.items() if ids[record.id] not in created)
        if final:
            yield from self._note_all(name + REFUSED for name in refused)
        else:
            for names in context.chunks(refused):
                yield context.given(context.statements.stage.forget_notes, ("name",), [(name,) for name in names])
        return {name + REFUSED for name in refused}

    def _receive_turns(self, arrivals: Sequence[Arrival], ids: dict[int, int], history: timedelta) -> Plan[set[str]]:
        """Write the turns that have not arrived before; return their names."""
        context = self.context
        fresh = yield from self._note_all(one.name for one in arrivals)
        turns = [one.what for one in arrivals if isinstance(one.what, HistoryRow) and one.name in fresh]
        for chunk in context.chunks(turns, _size):
            rows = [self._told(past, ids[past.id], history) for past in chunk]
            yield context.given(context.statements.receive.insert_turns, TOLD, rows)
        return fresh

    def _note_arrivals(self, records: Iterable[Record]) -> None:
        """Tell this process's claims where the messages will be."""
        context = self.context
        context.floors.written()
        for record in records:
            context.floors.lower(record.due_at)
            if record.priority or record.group is not None:
                context.priorities.add(record.queue, [PriorityLine(record.priority, record.group is not None)])

    def _arrived(self, record: Record, id: int) -> tuple[Any, ...]:
        """Return a message's values for the columns of ARRIVED."""
        moment = self.context.dialect.write_moment
        return (
            id,
            record.queue,
            record.key,
            record.kind,
            record.payload,
            record.headers,
            record.group,
            record.priority,
            record.status,
            moment(record.due_at),
            moment(record.first_due_at),
            record.attempts,
            record.token,
            moment(record.created_at),
            moment(record.last_attempt_at),
            record.last_error,
        )

    def _told(self, past: HistoryRow, id: int, history: timedelta) -> tuple[Any, ...]:
        """Return a turn's values for the columns of TOLD."""
        values = {name: getattr(past, name) for name in PAST} | {"id": id, "until": past.finished_at + history}
        for name in ("created_at", "first_due_at", "due_at", "started_at", "finished_at", "until"):
            values[name] = self.context.dialect.write_moment(values[name])
        return tuple(values[name] for name in TOLD)


def _answer(name: str, fresh: set[str], refused: set[str]) -> Reception:
    if name + REFUSED in refused:
        return "refused"
    return "arrived" if name in fresh else "before"


def _size(what: Record | HistoryRow) -> int:
    return len(what.payload)
