"""Change and remove messages."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

from bson import Int64

from duerow.errors import DuerowError, DuplicateKey, LeaseLost, MessageLeased
from duerow.plan import BEGIN, Plan
from duerow.store import Change, Record, Refused, Removal, Retention, cancellations
from duerow.stores.mongodb import commands
from duerow.stores.mongodb.listeners import CANCELLED_IN
from duerow.stores.mongodb.plans.context import MongoPlans
from duerow.stores.mongodb.unit_of_work import UnitOfWork, promote_next
from duerow.stores.records import altered, lease_runs


class MongoChange(MongoPlans):
    """Plans that change and remove messages."""

    def change(self, queue: str, changes: Sequence[Change], even_if_leased: bool, dry_run: bool) -> Plan[list[Refused]]:
        """Change messages in order, so that each sees the keys set before it; see OperationStore.change."""
        context = self.context
        together = context.capabilities.transactions
        if together and not dry_run:
            yield BEGIN
        now = yield from context.now()
        work = context.work(now)
        yield from work.load(change.record.id for change in changes)
        revived = [change.record.key for change in changes if change.revives and change.record.key is not None]
        yield from work.load_holders((queue, key) for key in revived)
        refused: list[Refused] = []
        for change in changes:
            record = work.lent_on(change.receipt)
            error = _refusal(work, queue, record, change, even_if_leased)
            if record is not None and error is None:
                work.put(altered(now, record, change))
                if not together and not dry_run:
                    error = yield from self._change_alone(work, queue, record)
            if error is not None:
                refused.append(Refused(change.receipt, error))
        if together and not dry_run:
            yield from work.write()
        return refused

    def _change_alone(self, work: UnitOfWork, queue: str, record: Record) -> Plan[DuerowError | None]:
        written = yield from work.write_alone(record.id)
        if written == "taken":
            return DuplicateKey(queue, [str(record.key)])
        return LeaseLost(record.id) if written == "lost" else None

    def remove(
        self, queue: str, ids: Sequence[int], keys: Sequence[str], even_if_leased: bool, keep: Retention | None = None
    ) -> Plan[Removal]:
        """Remove messages of this queue by id, and live ones by key; see OperationStore.remove."""
        context = self.context
        if keep is not None and keep.keys is not None:
            context.need("remember_keys=, which writes keys together with their messages,")
        if context.capabilities.transactions:
            yield BEGIN
        now = yield from context.now()
        work = context.work(now, keep)
        yield from work.load(ids)
        yield from work.load_holders((queue, key) for key in keys)
        named = {id_ for id_ in ids if id_ in work.records and work.records[id_].queue == queue}
        named |= {record.id for key in keys if (record := work.holder(queue, key)) is not None}
        leased = {id_ for id_ in named if work.records[id_].leased_by is not None}
        removal = Removal([], [])
        for id_ in sorted(named):
            yield from self._remove(work, work.records[id_], even_if_leased, now, removal)
        if context.capabilities.transactions:
            yield from self._tell_cancelled(queue, leased.intersection(removal.removed))
            yield from work.write()
        return removal

    def _tell_cancelled(self, queue: str, ids: Iterable[int]) -> Plan[None]:
        """Mark messages before they are deleted, because a deletion does not show listeners the queue."""
        mark = {"$set": {CANCELLED_IN: cancellations(queue)}}
        for chunk in commands.in_commands(sorted(ids)):
            yield commands.update(self.names.messages, [commands.change({"_id": Int64(id_)}, mark) for id_ in chunk])

    def _remove(
        self, work: UnitOfWork, record: Record, even_if_leased: bool, now: datetime, removal: Removal
    ) -> Plan[None]:
        if lease_runs(record, now) and not even_if_leased:
            removal.leased.append((record.id, record.leased_by or ""))
            return
        work.drop(record.id)
        work.left(record)
        if self.context.capabilities.transactions or (yield from work.write_alone(record.id)) == "written":
            removal.removed.append(record.id)

    def purge(self, queue: str, limit: int, last: int) -> Plan[int]:
        """Delete messages in any state; see OperationStore.purge."""
        if self.context.capabilities.transactions:
            yield BEGIN
        chosen = {"queue": queue, "_id": {"$lte": last}}
        found = yield commands.find(self.names.messages, chosen, {"_id": 1}, limit, {"line_group": 1})
        if not found:
            return 0
        reply = yield commands.delete_ids(self.names.messages, [one["_id"] for one in found])
        yield from promote_next(self.names, {(queue, one["line_group"]) for one in found if "line_group" in one})
        return int(reply["n"])


def _refusal(
    work: UnitOfWork, queue: str, record: Record | None, change: Change, even_if_leased: bool
) -> DuerowError | None:
    if record is None or record.queue != queue or record.status == "done":
        return LeaseLost(change.receipt.id)
    if lease_runs(record, work.now) and not even_if_leased:
        return MessageLeased(record.id, record.leased_by)
    if change.revives and record.key is not None and work.holder(queue, record.key) is not None:
        return DuplicateKey(queue, [record.key])
    return None
