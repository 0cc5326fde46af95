"""Imports from another database: messages and finished turns, each exactly once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import timedelta

from msgspec.structs import replace

from duerow.message import LIVE
from duerow.plan import BEGIN, Plan
from duerow.store import Arrival, HistoryRow, Reception, Record
from duerow.store.bulk import REFUSED
from duerow.stores.mongodb import commands
from duerow.stores.mongodb.documents import history_document, micro
from duerow.stores.mongodb.plans.context import MongoContext, MongoPlans
from duerow.stores.mongodb.plans.push import MongoPush
from duerow.stores.mongodb.unit_of_work import UnitOfWork


class MongoReceive(MongoPlans):
    """Plans that import from another database.

    Args:
        context: the state that all plans of the store share.
        push: adds messages.
    """

    def __init__(self, context: MongoContext, push: MongoPush) -> None:
        super().__init__(context)
        self._push = push

    def receive(
        self, arrivals: Sequence[Arrival], history: timedelta = timedelta(0), final: bool = False
    ) -> Plan[list[Reception]]:
        """Import messages and finished turns; see BulkStore.receive.

        If two transactions write the same name, or messages with the same key, a unique index makes one of them fail.
        It is repeated, and then sees what the other one wrote.
        """
        context = self.context
        context.need("receiving messages from another database")
        yield BEGIN
        work = context.work((yield from context.now()))
        ids = yield from self._new_ids([one.what for one in arrivals if one.what is not None])
        noted = yield from self._noted(arrivals)
        lone = [one for one in arrivals if not isinstance(one.what, HistoryRow)]
        refused = {one.name for one in lone if one.name + REFUSED in noted}
        fresh = {one.name for one in lone} - noted
        taken = yield from self._receive_messages(work, [one for one in lone if one.name in fresh], ids)
        refused |= taken
        kept_out = {one.what.id for one in lone if one.name in refused and one.what is not None}
        turns = {one.name: one.what for one in arrivals if isinstance(one.what, HistoryRow)}
        refused |= {name for name, turn in turns.items() if turn.id in kept_out}
        fresh |= turns.keys() - refused - noted
        yield from self._note_all({*(fresh - taken), *(_notes_of(taken) if final else ())}, work)
        yield from work.write()
        yield from self._write_turns(work, [turn for name, turn in turns.items() if name in fresh], ids, history)
        return ["refused" if one.name in refused else "arrived" if one.name in fresh else "before" for one in arrivals]

    def _new_ids(self, those: Sequence[Record | HistoryRow]) -> Plan[dict[int, int]]:
        """Return a new id for each id from the other database, in the same order."""
        old = sorted({what.id for what in those})
        return dict(zip(old, (yield from self._push.ids(len(old))), strict=True))

    def _noted(self, arrivals: Iterable[Arrival]) -> Plan[set[str]]:
        """Return the names that are recorded already, either as arrived or as permanently refused."""
        noted: set[str] = set()
        names = {one.name for one in arrivals}
        for chunk in commands.in_commands(sorted(names | {name + REFUSED for name in names})):
            noted |= {one["_id"] for one in (yield commands.find(self.names.noted, {"_id": {"$in": chunk}}))}
        return noted

    def _note_all(self, names: Iterable[str], work: UnitOfWork) -> Plan[None]:
        for chunk in commands.in_commands(sorted(names)):
            yield commands.insert(self.names.noted, [{"_id": name, "at": micro(work.now)} for name in chunk])

    def _receive_messages(self, work: UnitOfWork, arrivals: Sequence[Arrival], ids: dict[int, int]) -> Plan[set[str]]:
        """Decide about messages in order; return the names of those whose key a live message holds."""
        records = {one.name: one.what for one in arrivals if isinstance(one.what, Record)}
        live = [record for record in records.values() if record.status in LIVE]
        yield from work.load_holders((record.queue, record.key) for record in live if record.key is not None)
        taken: set[str] = set()
        for name, record in records.items():
            if record.status in LIVE and work.holder(record.queue, record.key) is not None:
                taken.add(name)
            else:
                work.put(replace(record, id=ids[record.id], leased_by=None, leased_until=None))
        return taken

    def _write_turns(
        self, work: UnitOfWork, turns: Iterable[HistoryRow], ids: dict[int, int], history: timedelta
    ) -> Plan[None]:
        kept = (
            history_document(replace(turn, id=ids[turn.id])) | work.until(turn.finished_at + history) for turn in turns
        )
        for documents in commands.in_commands(kept):
            yield commands.insert(self.names.history, documents)


def _notes_of(taken: Iterable[str]) -> Iterable[str]:
    """Yield two records for each permanently refused arrival: that it arrived, and that it was refused."""
    for name in taken:
        yield name
        yield name + REFUSED
