"""The raw operations of the store: who may call each of them, and how it is carried out."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

from msgspec.structs import replace

from duerow.errors import LeaseLost
from duerow.queue.limits import LIMITS
from duerow.queue.schedule import queue_of
from duerow.store import Refused
from duerow.store.consumer_id import own_version
from duerow.store.wire import calls
from duerow.store.wire.calls import PROTOCOL, About
from duerow.store.wire.operations import OPERATIONS
from duerow.web.api.store_access import StoreAccess, missing
from duerow.web.refusals import Refusal


async def _run(access: StoreAccess, name: str, call: Any, **others: Any) -> Any:
    """Have the store carry out an operation with the arguments of a call, some of them replaced by `others`."""
    operation = OPERATIONS[name]
    arguments = {one: getattr(call, one) for one in call.__struct_fields__} | others
    part = getattr(access.web.database.store, operation.part)
    return await access.web.database.run(lambda: getattr(part, operation.method)(**arguments))


# Messages.


async def _push(access: StoreAccess, call: calls.PushCall) -> Any:
    for limited in access.check_pushes(call.entries):
        await access.web.record(access.viewer, "limit", limited)
    if call.once is not None:
        access.check("push", None)  # the name applies to all queues
    if access.viewer.means != "token":
        for queue in dict.fromkeys(entry.queue for entry in call.entries if entry.queue != LIMITS):
            keys = [entry.key for entry in call.entries if entry.queue == queue]
            await access.web.record(access.viewer, "push", queue, count=len(keys), keys=keys[:20])
    return await _run(access, "messages.push", call)


async def _reserve(access: StoreAccess, call: calls.ReserveCall) -> Any:
    access.check("consume", call.queue)
    await access.check_dead_letter(call.queue, call.dead_letter)
    return await _run(access, "messages.reserve", call)


async def _extend(access: StoreAccess, call: calls.ExtendCall) -> Any:
    _check_places(call.receipts, call.queues)
    held = [*await access.owners(call.receipts, call.queues)]
    store = access.web.database.store
    until = await access.web.database.run(lambda: store.messages.extend(held, call.lease)) if held else {}
    return [*until.items()]


async def _settle(access: StoreAccess, call: calls.SettleCall) -> Any:
    receipts = [turn.receipt for turn in call.turns]
    _check_places(receipts, call.queues)
    held = await access.owners(receipts, call.queues)
    ours = [turn for turn in call.turns if turn.receipt in held]
    for turn in ours:
        await access.check_targets(held[turn.receipt], [turn])
    store = access.web.database.store
    refused = await access.web.database.run(lambda: store.messages.settle(ours, call.keep)) if ours else []
    place = {receipt: place for place, receipt in reversed([*enumerate(receipts)])}
    lost = [Refused(one, LeaseLost(one.id)) for one in missing(receipts, held)]
    return sorted([*refused, *lost], key=lambda one: place[one.receipt])


def _check_places(receipts: Any, queues: Any) -> None:
    if len(receipts) != len(queues):
        raise Refusal(422, "invalid-request", "queues must have a name or null for each receipt")


async def _find(access: StoreAccess, call: calls.FindCall) -> Any:
    access.check_find(call.query)
    query = replace(call.query, locked=False)  # a lock would end with this request
    return await _run(access, "messages.find", call, query=query)


async def _next_due(access: StoreAccess, call: calls.NextDueCall) -> Any:
    access.check("view", *call.queues)
    return await _run(access, "messages.next_due", call)


# Operations.


def _read(name: str) -> Callable[[StoreAccess, Any], Awaitable[Any]]:
    """Return the function that carries out an operation that shows whole messages of a queue."""

    async def read(access: StoreAccess, call: Any) -> Any:
        access.check_reads(call.queue)
        return await _run(access, name, call)

    return read


def _view(name: str) -> Callable[[StoreAccess, Any], Awaitable[Any]]:
    """Return the function that carries out an operation that shows the state of a queue."""

    async def view(access: StoreAccess, call: Any) -> Any:
        access.check("view", call.queue)
        return await _run(access, name, call)

    return view


async def _inspect(access: StoreAccess, call: calls.InspectCall) -> Any:
    access.check_reads(call.queue)
    found = await _run(access, "operations.inspect", call)
    if found is None:
        return None
    return replace(found, consumers=_seen(access, found.consumers))


async def _queues(access: StoreAccess, call: calls.QueuesCall) -> Any:
    return [name for name in await _run(access, "operations.queues", call) if access.sees(name)]


async def _change(access: StoreAccess, call: calls.ChangeCall) -> Any:
    access.check("operate", call.queue)
    receipts = [one.receipt for one in call.changes]
    if not call.dry_run:
        chosen = [one.id for one in receipts]
        await access.web.record(access.viewer, "change", call.queue, count=len(chosen), ids=chosen[:20])
    records = await access.records(call.queue, [one.id for one in receipts])
    held = [one for one in receipts if one.id in records and records[one.id].token == one.token]
    changes = [one.change(records[one.receipt.id]) for one in call.changes if one.receipt in held]
    lost = [Refused(one, LeaseLost(one.id)) for one in receipts if one not in held]
    refused = await _run(access, "operations.change", call, changes=changes) if changes else []
    place = {receipt: place for place, receipt in enumerate(receipts)}
    return sorted([*refused, *lost], key=lambda one: place[one.receipt])


async def _remove(access: StoreAccess, call: calls.RemoveCall) -> Any:
    changed = access.check_remove(call.queue, call.ids, call.keys)
    if call.queue == LIMITS:
        for limited in changed:
            await access.web.record(access.viewer, "limit", limited)
    else:
        chosen = {"ids": call.ids[:20], "keys": call.keys[:20]}
        await access.web.record(access.viewer, "remove", call.queue, count=len(call.ids) + len(call.keys), **chosen)
    return await _run(access, "operations.remove", call)


async def _purge(access: StoreAccess, call: calls.PurgeCall) -> Any:
    access.check("operate", call.queue)
    await access.web.record(access.viewer, "purge", call.queue, last=call.last)
    return await _run(access, "operations.purge", call)


# History, settings, schedules, pipelines, consumers, counts.


async def _history(access: StoreAccess, call: calls.HistoryCall) -> Any:
    access.check_reads(call.query.queue)
    return await _run(access, "history.find", call)


async def _prune(access: StoreAccess, call: calls.PruneCall) -> Any:
    access.check_works()  # pruned data has expired, no matter who prunes it
    return await _run(access, "history.prune", call)


async def _put_settings(access: StoreAccess, call: calls.PutSettingsCall) -> Any:
    access.check("operate", call.queue)
    said = {name: getattr(call, name) for name in ("paused", "draining") if getattr(call, name) is not None}
    await access.web.record(access.viewer, "settings", call.queue, declared=call.definition is not None, **said)
    return await _run(access, "metadata.put_settings", call)


async def _settings(access: StoreAccess, call: calls.SettingsCall) -> Any:
    if call.queue is not None:
        access.check("view", call.queue)
    return [one for one in await _run(access, "metadata.settings", call) if access.sees(one.queue)]


async def _index(access: StoreAccess, call: calls.IndexCall) -> Any:
    access.check("operate", call.queue)
    if not call.dry_run:
        await access.web.record(access.viewer, "index", call.queue, fields=[".".join(one.path) for one in call.fields])
    return await _run(access, "metadata.index", call)


async def _set_schedule(access: StoreAccess, call: calls.SetScheduleCall) -> Any:
    if not await access.check_schedule(call.change):
        queue = None if call.change.after is None else queue_of(call.change.after)
        action = "schedule remove" if call.change.after is None else "schedule add"
        await access.web.record(access.viewer, action, queue, schedule=call.change.name)
    return await _run(access, "metadata.set_schedule", call)


async def _schedules(access: StoreAccess, call: calls.SchedulesCall) -> Any:
    found = await _run(access, "metadata.schedules", call)
    shown = access.ticks if call.due else access.sees
    return replace(found, rows=[one for one in found.rows if shown(queue_of(one))])


async def _set_pipeline(access: StoreAccess, call: calls.SetPipelineCall) -> Any:
    await access.check_pipeline(call.name, call.after)
    await access.web.record(access.viewer, "pipeline", None, pipeline=call.name, removed=call.after is None)
    return await _run(access, "metadata.set_pipeline", call)


async def _pipelines(access: StoreAccess, call: calls.NamedCall) -> Any:
    return [one for one in await _run(access, "metadata.pipelines", call) if access.sees_pipeline(one)]


async def _note_consumer(access: StoreAccess, call: calls.NoteConsumerCall) -> Any:
    access.check("consume", *call.queues)
    return await _run(access, "metadata.note_consumer", call)


async def _consumers(access: StoreAccess, call: calls.NoArguments) -> Any:
    return _seen(access, await _run(access, "metadata.consumers", call))


def _seen(access: StoreAccess, consumers: Any) -> list[Any]:
    return [one for one in consumers if any(access.sees(name) for name in one.queues)]


async def _note_counts(access: StoreAccess, call: calls.NoteCountsCall) -> Any:
    access.check_works()
    access.check("view", *(row.queue for row in call.rows))
    return await _run(access, "counters.note_counts", call)


async def _about(access: StoreAccess, call: calls.NoArguments) -> About:
    can = access.web.database.store.capabilities
    return About(PROTOCOL, own_version(), can.transactions, sorted(can.parts), access.web.options.max_body_bytes)


CARRIED_OUT: Final[Mapping[str, Callable[[StoreAccess, Any], Awaitable[Any]]]] = {
    "messages.push": _push,
    "messages.reserve": _reserve,
    "messages.extend": _extend,
    "messages.settle": _settle,
    "messages.find": _find,
    "messages.next_due": _next_due,
    "operations.peek": _read("operations.peek"),
    "operations.count": _view("operations.count"),
    "operations.tally": _read("operations.tally"),
    "operations.queue_stats": _view("operations.queue_stats"),
    "operations.inspect": _inspect,
    "operations.queues": _queues,
    "operations.change": _change,
    "operations.remove": _remove,
    "operations.purge": _purge,
    "history.find": _history,
    "history.prune": _prune,
    "metadata.put_settings": _put_settings,
    "metadata.settings": _settings,
    "metadata.index": _index,
    "metadata.set_schedule": _set_schedule,
    "metadata.schedules": _schedules,
    "metadata.set_pipeline": _set_pipeline,
    "metadata.pipelines": _pipelines,
    "metadata.note_consumer": _note_consumer,
    "metadata.consumers": _consumers,
    "counters.note_counts": _note_counts,
    "counters.read": _view("counters.read"),
    "schema.check": _about,
}
"""How each operation is checked and carried out; a test makes sure that none is missing."""
