"""The store over HTTP: who may do what, message by message, and what is taken of what is sent."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import msgspec
import pytest

from duerow import Draft, aio
from duerow.message import Pushed
from duerow.queue.limits import LIMITS
from duerow.queue.recurrence import Recurrence
from duerow.queue.schedule import ScheduleDefinition
from duerow.reservation import Receipt
from duerow.store import (
    Buried,
    Committed,
    Counted,
    Entry,
    HistoryQuery,
    Joined,
    Moved,
    Order,
    Planned,
    Query,
    Released,
    Retention,
    ScheduleChange,
    StoredPipeline,
    Turn,
)
from duerow.store.metadata import Totals
from duerow.store.wire import calls
from duerow.store.wire.operations import OPERATIONS, encoded
from duerow.web import Account, Accounts, digest
from duerow.web.api.store_operations import CARRIED_OUT
from tests.web.conftest import Opened

HOUR = timedelta(hours=1)
ENDLESS = Retention(timedelta(days=999_999))
NO_TIME = Order("due_at", after=("soon", 1))
MINUTE = datetime(2030, 1, 1, tzinfo=UTC)
TOKENS = {name: f"duerow_of-{name}" for name in ("viewer", "operator", "worker", "all")}
ROLES = {
    "viewer": {"orders*": "viewer"},
    "operator": {"orders*": "operator"},
    "worker": {"orders*": "worker"},
    "all": ["operator", "worker"],
}


@pytest.fixture
def accounts() -> Accounts:
    return Accounts({name: Account(ROLES[name], None, {"t": digest(TOKENS[name])}) for name in TOKENS})


async def ask(client: httpx.AsyncClient, who: str, name: str, call: Any) -> httpx.Response:
    """Have somebody ask for an operation."""
    body = call if isinstance(call, bytes) else encoded(call)
    headers = {"Authorization": f"Bearer {TOKENS[who]}", "Content-Type": "application/json"}
    return await client.post(f"/api/v1/store/{name}", content=body, headers=headers)


def entry(queue: str, **fields: Any) -> Entry:
    """Return a message to be pushed."""
    usual: dict[str, Any] = {"key": None, "kind": "json", "payload": "1", "headers": None, "due": None, "delay": None}
    return Entry(queue, **{**usual, **fields})


def pushing(**fields: Any) -> tuple[str, calls.PushCall]:
    """Return a push of a message to the queue of orders."""
    return "messages.push", calls.PushCall([entry(fields.pop("queue", "orders"), **fields)], "ignore")


def planned(queue: str, version: int = 1) -> Planned:
    """Return a schedule that pushes to a queue every hour."""
    wanted = ScheduleDefinition(queue=queue, kind="json", payload="1", recurrence=Recurrence(every=HOUR))
    return Planned("often", msgspec.json.encode(wanted).decode(), datetime(2030, 1, 1, tzinfo=UTC), None, version)


def writes(queue: str) -> dict[str, Any]:
    """Return everything that changes something of a queue."""
    return {
        "messages.push": calls.PushCall([entry(queue)], "ignore"),
        "messages.reserve": calls.ReserveCall(queue, 1, HOUR, None, "host:1:w/1"),
        "operations.change": calls.ChangeCall(queue, [calls.Alteration(Receipt(1, 0), priority=1)], False, False),
        "operations.remove": calls.RemoveCall(queue, [1], [], False),
        "operations.purge": calls.PurgeCall(queue, 10, 10),
        "metadata.put_settings": calls.PutSettingsCall(queue, paused=True),
        "metadata.index": calls.IndexCall(queue, [], False),
        "metadata.set_schedule": calls.SetScheduleCall(ScheduleChange("often", None, planned(queue))),
        "metadata.note_consumer": calls.NoteConsumerCall("host:1:w", [queue], [], "1"),
        "counters.note_counts": calls.NoteCountsCall("p", [Counted(queue, MINUTE, Totals(), None, None)]),
    }


def reads(queue: str) -> dict[str, Any]:
    """Return everything that shows something of a queue."""
    return {
        "messages.find": calls.FindCall(Query(queue)),
        "messages.next_due": calls.NextDueCall([queue], HOUR),
        "operations.peek": calls.PeekCall(queue, 1),
        "operations.count": calls.QueueCall(queue),
        "operations.tally": calls.TallyCall(queue, None, ("payload", "n"), None),
        "operations.queue_stats": calls.StatsCall(queue, None),
        "operations.inspect": calls.InspectCall(queue, 1, None),
        "history.find": calls.HistoryCall(HistoryQuery(queue)),
        "metadata.settings": calls.SettingsCall(queue),
        "counters.read": calls.QueueCall(queue),
    }


WORKERS = {"messages.push", "messages.reserve", "metadata.note_consumer", "counters.note_counts"}
OPERATORS = {
    "messages.push", "operations.change", "operations.remove", "operations.purge", "metadata.put_settings",
    "metadata.index", "metadata.set_schedule", "counters.note_counts", "messages.reserve", "metadata.note_consumer",
}  # fmt: skip
"""What each may; an operator who sees whole payloads may also take messages, as in the other operations."""


def test_every_operation_says_who_may_have_it_carried_out() -> None:
    assert CARRIED_OUT.keys() == OPERATIONS.keys()


async def test_each_account_may_what_its_role_says_and_with_its_own_queues_alone(
    memory: aio.Database, accounts: Accounts, opened: Opened
) -> None:
    client = opened(memory, users=accounts)
    may = {"viewer": set[str](), "worker": WORKERS, "operator": OPERATORS}
    for who, allowed in may.items():
        for name, call in writes("orders").items():
            expected = 200 if name in allowed else 403
            assert (await ask(client, who, name, call)).status_code == expected, (who, name)
        for name, call in reads("orders").items():
            assert (await ask(client, who, name, call)).status_code == 200, (who, name)
        for name, call in {**writes("salaries"), **reads("salaries")}.items():
            response = await ask(client, who, name, call)
            assert response.status_code == 403, (who, name)
            assert response.headers["content-type"] == "application/problem+json"


async def test_the_limits_of_a_queue_are_set_by_its_operators_and_read_by_all_who_see_it(
    memory: aio.Database, accounts: Accounts, opened: Opened
) -> None:
    client = opened(memory, users=accounts, redact=lambda queue, payload: "***")

    async def status(who: str, name: str, call: Any) -> int:
        return (await ask(client, who, name, call)).status_code

    def setting(*keys: str | None) -> calls.PushCall:
        return calls.PushCall([entry(LIMITS, key=key, payload='{"concurrency":2}') for key in keys], "replace")

    for who, expected in {"viewer": 403, "worker": 403, "operator": 200}.items():
        assert await status(who, "messages.push", setting("orders")) == expected
    assert (await memory.queue("orders").limits()).concurrency == 2
    for keys in (("orders", "salaries"), (None,), (LIMITS,)):
        assert await status("operator", "messages.push", setting(*keys)) == 403
    assert await status("all", "messages.push", setting(None)) == 403
    for who in ("viewer", "worker", "operator"):
        assert await status(who, "messages.find", calls.FindCall(Query(LIMITS, keys=("orders",)))) == 200
        for query in (Query(LIMITS, keys=("orders", "salaries")), Query(LIMITS), Query(LIMITS, keys=())):
            assert await status(who, "messages.find", calls.FindCall(query)) == 403
        assert await status(who, "operations.remove", calls.RemoveCall(LIMITS, [], ["salaries"], True)) == 403
        assert await status(who, "operations.remove", calls.RemoveCall(LIMITS, [1], ["orders"], True)) == 403
    assert await status("worker", "operations.remove", calls.RemoveCall(LIMITS, [], ["orders"], True)) == 403
    assert await status("operator", "operations.remove", calls.RemoveCall(LIMITS, [], ["orders"], True)) == 200
    assert (await memory.queue("orders").limits()).concurrency is None
    audit = await client.get("/api/v1/audit", headers={"Authorization": f"Bearer {TOKENS['all']}"})
    said = [(one["action"], one["by"], one["queue"]) for one in audit.json()["entries"]]
    assert said == [("limit", "operator", "orders")] * 2


async def test_lists_have_only_what_may_be_seen(memory: aio.Database, accounts: Accounts, opened: Opened) -> None:
    for name in ("orders", "salaries"):
        queue = memory.queue(name)
        await queue.push(1)
        await queue.pause()
        await memory.schedule(f"of-{name}", every=HOUR, queue=name)
        await memory.run(lambda name=name: memory.store.metadata.note_consumer(f"h:1:{name}", [name], [], "1"))  # type: ignore[misc]
        text = f'{{"name":"{name}","stations":[{{"name":"{name}","kind":"sink","ways":{{}},"function":"f"}}]}}'
        stored = StoredPipeline(name, text, 1)
        await memory.run(lambda stored=stored: memory.store.metadata.set_pipeline(stored.name, None, stored))  # type: ignore[misc]
    client = opened(memory, users=accounts)
    for name, call in {
        "operations.queues": calls.QueuesCall(),
        "metadata.settings": calls.SettingsCall(),
        "metadata.schedules": calls.SchedulesCall(),
        "metadata.pipelines": calls.NamedCall(),
        "metadata.consumers": calls.NoArguments(),
    }.items():
        response = await ask(client, "viewer", name, call)
        assert (response.status_code, "orders" in response.text, "salaries" in response.text) == (200, True, False), (
            name
        )
        assert "salaries" in (await ask(client, "all", name, call)).text


@pytest.fixture
async def taken(memory: aio.Database) -> aio.Reservation[Any]:
    """A message of a queue of others, which somebody works on."""
    await memory.queue("salaries").push("hers")
    reservation = await memory.queue("salaries").reserve()
    assert reservation is not None
    return reservation


async def test_a_guessed_receipt_ends_no_turn_of_another_queue_and_extends_none(
    memory: aio.Database, accounts: Accounts, opened: Opened, taken: aio.Reservation[Any]
) -> None:
    client = opened(memory, users=accounts)
    for queue in (None, "orders", "salaries"):
        for end in (
            Committed(),
            Buried(None),
            Released(None),
            Moved("orders", None, None, None, None, None, None, "reject"),
        ):
            settle = calls.SettleCall([Turn(taken.receipt, end)], [queue])
            response = await ask(client, "worker", "messages.settle", settle)
            assert response.status_code == 200
            assert [one["error"]["error"] for one in response.json()] == ["LeaseLost"]
        extended = await ask(client, "worker", "messages.extend", calls.ExtendCall([taken.receipt], HOUR, [queue]))
        assert extended.json() == []
    await taken.commit()
    assert [one.queue for one in await memory.queue("orders").find()] == []


async def test_a_receipt_is_found_without_being_told_where_it_is(
    memory: aio.Database, accounts: Accounts, opened: Opened, taken: aio.Reservation[Any]
) -> None:
    client = opened(memory, users=accounts)
    response = await ask(client, "all", "messages.settle", calls.SettleCall([Turn(taken.receipt, Committed())], [None]))
    assert (response.status_code, response.json()) == (200, [])
    assert await memory.queue("salaries").count() == 0


async def test_a_turn_sends_nothing_to_where_its_worker_may_not_push(
    memory: aio.Database, accounts: Accounts, opened: Opened
) -> None:
    client = opened(memory, users=accounts)
    await memory.queue("orders").push(1)
    [mine] = await memory.queue("orders").reserve_many(1)
    moved = Moved("salaries", None, None, None, None, None, None, "reject")
    dead = Moved("salaries", None, None, None, None, None, None, "reject", dead=True)
    joined = Joined("salaries", "c", HOUR, 3, Buried(None))
    late = Joined("orders/sets", "c", HOUR, 3, moved)
    for end in (moved, dead, Committed(then=(entry("salaries"),)), joined, late):
        settle = calls.SettleCall([Turn(mine.receipt, end)], ["orders"])
        assert (await ask(client, "worker", "messages.settle", settle)).status_code == 403, end
    reserve = calls.ReserveCall("orders", 1, HOUR, 1, "host:1:w/1", dead_letter="salaries")
    assert (await ask(client, "worker", "messages.reserve", reserve)).status_code == 403
    assert await memory.queue("salaries").count() == 0
    await mine.commit()


async def test_dead_letters_go_where_their_queue_is_declared_to_send_them(
    memory: aio.Database, accounts: Accounts, opened: Opened
) -> None:
    await memory.queue("orders", dead_letter="graveyard").declare()
    client = opened(memory, users=accounts)
    reserve = calls.ReserveCall("orders", 1, HOUR, 1, "host:1:w/1", dead_letter="graveyard")
    assert (await ask(client, "worker", "messages.reserve", reserve)).status_code == 200


async def test_a_worker_ticks_a_schedule_as_it_was_declared_and_in_no_other_way(
    memory: aio.Database, accounts: Accounts, opened: Opened
) -> None:
    client = opened(memory, users=accounts)
    known = planned("orders")
    await memory.run(lambda: memory.store.metadata.set_schedule(ScheduleChange("often", None, known)))
    ticked = Planned("often", known.definition, datetime(2031, 1, 1, tzinfo=UTC), None, 2)
    for change, status in (
        (ScheduleChange("often", 1, planned("orders/other", version=2)), 403),
        (ScheduleChange("often", 1, None), 403),
        (ScheduleChange("often", 1, ticked, (entry("salaries"),)), 403),
        (ScheduleChange("often", 1, ticked, (entry("orders"),)), 200),
    ):
        assert (
            await ask(client, "worker", "metadata.set_schedule", calls.SetScheduleCall(change))
        ).status_code == status
    assert [one.queue for one in await memory.queue("orders").find()] == ["orders"]
    assert (await memory.schedules())[0].next_at == ticked.next_at


async def test_redacted_payloads_are_shown_to_workers_alone(
    memory: aio.Database, accounts: Accounts, opened: Opened
) -> None:
    await memory.queue("orders", history=HOUR).push({"card": "4111"})
    client = opened(memory, users=accounts, redact=lambda queue, payload: "***")
    whole = ("messages.find", "operations.peek", "operations.tally", "operations.inspect", "history.find")
    for name in whole:
        for who in ("viewer", "operator"):
            response = await ask(client, who, name, reads("orders")[name])
            assert response.status_code == 403, (who, name)
            assert "4111" not in response.text
        assert (await ask(client, "worker", name, reads("orders")[name])).status_code == 200
    assert (await ask(client, "operator", "messages.reserve", writes("orders")["messages.reserve"])).status_code == 403


async def test_a_read_only_window_answers_what_reads_and_nothing_else(
    memory: aio.Database, accounts: Accounts, opened: Opened
) -> None:
    client = opened(memory, users=accounts, read_only=True)
    for name, call in reads("orders").items():
        assert (await ask(client, "all", name, call)).status_code == 200, name
    for name, call in writes("orders").items():
        assert (await ask(client, "all", name, call)).status_code == 403, name


async def test_what_operators_change_is_written_down(memory: aio.Database, accounts: Accounts, opened: Opened) -> None:
    client = opened(memory, users=accounts)
    await memory.queue("orders").push(1)
    recorded = (
        "operations.change",
        "operations.remove",
        "operations.purge",
        "metadata.put_settings",
        "metadata.set_schedule",
    )
    for name in recorded:
        await ask(client, "operator", name, writes("orders")[name])
    audit = await client.get("/api/v1/audit", headers={"Authorization": f"Bearer {TOKENS['all']}"})
    said = [(one["action"], one["by"], one["queue"]) for one in reversed(audit.json()["entries"])]
    actions = ("change", "remove", "purge", "settings", "schedule add")
    assert said == [(action, "operator", "orders") for action in actions]


ODD: dict[str, tuple[str, Any]] = {
    "no JSON": ("messages.push", b"{"),
    "a list": ("messages.push", b"[]"),
    "an unknown member": ("messages.push", b'{"entries": [], "on_duplicate": "ignore", "odd": 1}'),
    "an unknown mode": ("messages.push", b'{"entries": [], "on_duplicate": "perhaps"}'),
    "a queue that cannot be": pushing(queue="orders\n"),
    "a payload that is no JSON": pushing(payload="{"),
    "a payload with U+0000": pushing(payload='"\\u0000"'),
    "a payload with 65 bits": pushing(payload="9223372036854775808"),
    "a payload that is too deep": pushing(payload="[" * 200 + "]" * 200),
    "headers that are a list": pushing(headers="[1]"),
    "headers that are no scalars": pushing(headers='{"a":{}}'),
    "a key with U+0000": pushing(key="\0"),
    "a key that is too long": pushing(key="k" * 256),
    "a group that is empty": pushing(group=""),
    "a priority out of range": pushing(priority=1 << 15),
    "a kind that is endless": pushing(kind="k" * 1_000),
    "no kind": pushing(kind=""),
    "a time without a zone": ("messages.push", encoded(pushing(due=MINUTE)[1]).replace(b"00Z", b"00")),
    "a time of long ago": pushing(due=datetime(1900, 1, 1, tzinfo=UTC)),
    "a due time and a delay": pushing(due=datetime(2030, 1, 1, tzinfo=UTC), delay=HOUR),
    "an endless delay": pushing(delay=timedelta(days=999_999)),
    "too many at once": ("messages.reserve", calls.ReserveCall("orders", 10_001, HOUR, None, "host:1:w/1")),
    "fewer than none": ("messages.reserve", calls.ReserveCall("orders", -1, HOUR, None, "host:1:w/1")),
    "an id with 65 bits": ("operations.inspect", b'{"queue":"orders","id":9223372036854775808,"key":null}'),
    "a consumer without a name": ("messages.reserve", calls.ReserveCall("orders", 1, HOUR, None, "")),
    "a condition that is none": ("messages.find", b'{"query":{"queue":"orders","where":"payload."}}'),
    "a condition on a turn's field": ("messages.find", b'{"query":{"queue":"orders","where":"outcome = \'done\'"}}'),
    "an order behind no time": ("messages.find", calls.FindCall(Query("orders", order=NO_TIME))),
    "receipts without places": ("messages.settle", calls.SettleCall([Turn(Receipt(1, 1), Committed())], [])),
    "a definition that is no JSON": ("metadata.put_settings", calls.PutSettingsCall("orders", definition="{")),
    "a keeping that is endless": ("operations.remove", calls.RemoveCall("orders", [], [], False, ENDLESS)),
}  # fmt: skip


async def test_what_no_store_can_be_given_is_refused_before_anything_changes(
    memory: aio.Database, accounts: Accounts, opened: Opened
) -> None:
    client = opened(memory, users=accounts)
    for what, (name, call) in ODD.items():
        response = await ask(client, "all", name, call)
        assert 400 <= response.status_code < 500, (what, response.text)
        assert response.headers["content-type"] == "application/problem+json", what
    assert await memory.known_queues() == []


async def test_a_message_of_an_operation_comes_back_as_it_was_pushed(
    memory: aio.Database, accounts: Accounts, opened: Opened
) -> None:
    client = opened(memory, users=accounts)
    pushed = await ask(client, "worker", "messages.push", calls.PushCall([entry("orders", key="k")], "ignore"))
    [one] = OPERATIONS["messages.push"].read_answer(pushed.content)
    assert one == Pushed(one.id, "created")
    found = await ask(client, "viewer", "messages.find", calls.FindCall(Query("orders")))
    [record] = OPERATIONS["messages.find"].read_answer(found.content)
    assert (record.id, record.payload, record.key) == (one.id, "1", "k")
    assert await memory.queue("orders").push_many([Draft(1, key="k")]) == [Pushed(one.id, "ignored")]
