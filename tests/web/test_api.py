"""The HTTP API: a consumer in any language keeps every promise."""

from __future__ import annotations

import asyncio
import base64
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
from sqlalchemy import create_engine
from sqlalchemy.ext.asyncio import AsyncSession, create_async_engine

from duerow import Draft, Message, aio, fixed, limited
from duerow.aio.entity import EntityQueue
from duerow.web import application
from duerow.worker import cancellation
from duerow.worker.progress import draft, said
from tests.entity.models import Base, Mail
from tests.web.conftest import Opened

API = "/api/v1"


@pytest.fixture
def client(database: aio.Database, opened: Opened) -> httpx.AsyncClient:
    found = opened(database)
    found.base_url = httpx.URL("http://localhost/api/v1/")
    return found


async def pushed(client: httpx.AsyncClient, queue: str, *messages: dict[str, Any], **more: Any) -> list[Any]:
    response = await client.post(f"queues/{queue}/messages", json={"messages": messages, "create": True, **more})
    assert response.status_code == 201, response.text
    return response.json()["messages"]


async def reserved(client: httpx.AsyncClient, queue: str, **wish: Any) -> list[Any]:
    response = await client.post(f"queues/{queue}/reservations", json=wish)
    assert response.status_code == 200, response.text
    return response.json()["reservations"]


async def settled(client: httpx.AsyncClient, queue: str, *turns: dict[str, Any]) -> Any:
    response = await client.post(f"queues/{queue}/reservations/settle", json={"turns": turns})
    assert response.status_code == 200, response.text
    return response.json()


async def test_a_message_that_is_pushed_twice_with_its_key_is_there_once(client: httpx.AsyncClient, name: str):
    first, again = [await pushed(client, name, {"payload": {"n": 1}, "key": "k"}) for _ in range(2)]
    assert [first[0]["outcome"], again[0]["outcome"]] == ["created", "ignored"]
    assert first[0]["id"] == again[0]["id"]
    refused = await client.post(
        f"queues/{name}/messages", json={"messages": [{"payload": 1, "key": "k"}], "on_duplicate": "reject"}
    )
    assert (refused.status_code, refused.json()["keys"]) == (409, ["k"])
    assert refused.headers["content-type"] == "application/problem+json"
    assert refused.json()["type"] == "urn:duerow:problem:duplicate-key"
    assert refused.json()["detail"].endswith('pass "on_duplicate": "ignore", "replace" or "earliest"')


async def test_a_batch_is_pushed_as_a_whole_or_not_at_all(client: httpx.AsyncClient, name: str, database: aio.Database):
    await pushed(client, name, {"payload": 0})
    bad = {"messages": [{"payload": 1}, {"payload": "\u0000"}]}
    assert (await client.post(f"queues/{name}/messages", json=bad)).status_code == 422
    assert await database.queue(name).count() == 1


async def test_what_is_pushed_comes_back_equal(client: httpx.AsyncClient, name: str):
    payloads = [{"n": 1, "x": 1.5, "t": "žč €", "l": [None, True, 2**63 - 1]}, "text", None, 0]
    data = base64.b64encode(b"\x00\xff").decode()
    await pushed(client, name, *({"payload": one} for one in payloads), {"payload_base64": data})
    found = [one["message"] for one in await reserved(client, name, limit=10)]
    assert [one["payload"] for one in found] == [*payloads, None]
    assert [one["payload_base64"] for one in found] == [None] * 4 + [data]


async def test_a_stale_receipt_changes_nothing(client: httpx.AsyncClient, name: str, database: aio.Database):
    await pushed(client, name, {"payload": "hello"})
    first = await reserved(client, name, lease_seconds=60)
    await settled(client, name, {"receipt": first[0]["receipt"], "outcome": "release"})
    second = await reserved(client, name)
    late = await settled(client, name, {"receipt": first[0]["receipt"], "outcome": "commit"})
    assert late["settled"] == 0
    assert late["refused"][0]["problem"]["type"] == "urn:duerow:problem:lease-lost"
    extended = await client.post(
        f"queues/{name}/reservations/extend",
        json={"receipts": [first[0]["receipt"], second[0]["receipt"]], "lease_seconds": 300},
    )
    assert [one["receipt"] for one in extended.json()["extended"]] == [second[0]["receipt"]]
    assert extended.json()["extended"][0]["until"] > second[0]["until"]
    assert [one["receipt"] for one in extended.json()["refused"]] == [first[0]["receipt"]]
    assert (await settled(client, name, {"receipt": second[0]["receipt"], "outcome": "commit"}))["settled"] == 1
    assert await database.queue(name).count() == 0


async def test_each_turn_ends_in_its_own_way(client: httpx.AsyncClient, name: str, database: aio.Database):
    await database.queue(name, retry=limited(1, fixed(timedelta(0)))).declare()
    await pushed(client, name, *({"payload": number} for number in range(6)))
    taken = {one["message"]["payload"]: one["receipt"] for one in await reserved(client, name, limit=6)}
    done = await settled(
        client,
        name,
        {"receipt": taken[0], "outcome": "commit", "then": [{"queue": f"{name}-next", "payload": "made"}]},
        {"receipt": taken[1], "outcome": "rollback", "delay_seconds": 60, "error": {"message": "no luck"}},
        {"receipt": taken[2], "outcome": "rollback", "error": {"type": "Boom", "message": "policy decides"}},
        {"receipt": taken[3], "outcome": "bury", "reason": {"message": "no use"}},
        {"receipt": taken[4], "outcome": "release"},
        {"receipt": taken[5], "outcome": "move", "to": f"{name}-next", "patch": None, "payload": "moved"},
    )
    assert done["refused"][0]["problem"]["status"] == 422  # payload and patch: one of them
    await settled(client, name, {"receipt": taken[5], "outcome": "move", "to": f"{name}-next", "priority": 7})
    queue = database.queue(name)
    left = {one.payload: (one.status, one.attempts) for one in await queue.find()}
    assert left == {1: ("error", 1), 2: ("dead", 1), 3: ("dead", 1), 4: ("new", 0)}
    errors = {one.payload: one.last_error and one.last_error.message for one in await queue.find(status="dead")}
    assert errors == {2: "policy decides", 3: "no use"}
    went = {one.payload: one.priority for one in await database.queue(f"{name}-next").find()}
    assert went == {"made": 0, 5: 7}


async def test_a_receipt_of_another_queue_settles_nothing(client: httpx.AsyncClient, name: str, database: aio.Database):
    await pushed(client, name, {"payload": 1})
    await pushed(client, f"{name}-other", {"payload": 1})
    taken = await reserved(client, name)
    wrong = await settled(client, f"{name}-other", {"receipt": taken[0]["receipt"], "outcome": "commit"})
    assert wrong["settled"] == 0
    assert await database.queue(name).count() == 1


async def test_a_consumer_that_waits_has_the_message_as_soon_as_it_is_pushed(
    client: httpx.AsyncClient, name: str, database: aio.Database
):
    await database.queue(name).declare()
    waiting = [asyncio.create_task(reserved(client, name, wait_seconds=60)) for _ in range(2)]
    await asyncio.sleep(0.2)
    await database.queue(name).push_many([Draft(1), Draft(2)])
    taken = await asyncio.wait_for(asyncio.gather(*waiting), 30)
    assert sorted(one[0]["message"]["payload"] for one in taken) == [1, 2]


async def test_a_consumer_that_waits_in_vain_gets_nothing(client: httpx.AsyncClient, name: str):
    assert await reserved(client, name, wait_seconds=0.05) == []


async def test_pages_go_on_where_the_last_one_ended_in_every_order(client: httpx.AsyncClient, name: str):
    await pushed(client, name, *({"payload": n, "priority": n % 3, "key": f"k{n}"} for n in range(7)))
    for order, expected in (("id", [0, 1, 2, 3, 4, 5, 6]), ("-priority", [2, 5, 1, 4, 0, 3, 6]), ("due_at", None)):
        seen: list[Any] = []
        after = None
        while True:
            page = (
                await client.get(
                    f"queues/{name}/messages", params={"order": order, "limit": 3} | ({"after": after} if after else {})
                )
            ).json()
            seen += [one["payload"] for one in page["messages"]]
            after = page["next"]
            if after is None:
                break
        assert sorted(seen) == list(range(7))
        assert expected is None or sorted(seen) == sorted(expected)
    wrong = await client.get(f"queues/{name}/messages", params={"order": "key", "after": "bm8"})
    assert wrong.status_code == 422


async def test_large_results_come_line_by_line(client: httpx.AsyncClient, name: str, database: aio.Database):
    await database.queue(name).push_many([Draft(n) for n in range(1_201)])
    lines = (await client.get(f"queues/{name}/messages", headers={"Accept": "application/x-ndjson"})).text.splitlines()
    assert [json.loads(line)["payload"] for line in lines] == list(range(1_201))


async def test_messages_are_found_counted_and_explained(client: httpx.AsyncClient, name: str):
    made = await pushed(client, name, {"payload": {"n": 1}}, {"payload": {"n": 2}, "delay_seconds": 3600})
    found = await client.get(f"queues/{name}/messages", params={"where": "payload.n = 2"})
    assert [one["id"] for one in found.json()["messages"]] == [made[1]["id"]]
    by = await client.get(f"queues/{name}/count", params={"by": "payload.n"})
    assert sorted((one["value"], one["count"]) for one in by.json()["counts"]) == [(1, 1), (2, 1)]
    why = await client.get(f"queues/{name}/messages/{made[1]['id']}/why")
    assert "not-due" in [one["code"] for one in why.json()]
    wrong = await client.get(f"queues/{name}/messages", params={"where": "payload.n ="})
    assert (wrong.status_code, wrong.json()["type"]) == (422, "urn:duerow:problem:invalid-condition")
    assert (await client.get(f"queues/{name}/messages/{1 << 40}")).status_code == 404
    stats = (await client.get(f"queues/{name}/stats")).json()
    assert (stats["ready"], stats["delayed"]) == (1, 1)


async def test_changes_are_counted_first_and_then_made(client: httpx.AsyncClient, name: str, database: aio.Database):
    await pushed(client, name, *({"payload": {"n": n}} for n in range(4)))
    queue = database.queue(name)

    async def change(verb: str, **body: Any) -> Any:
        response = await client.post(f"queues/{name}/{verb}", json=body)
        assert response.status_code == 200, response.text
        return response.json()

    assert await change("remove", where="payload.n < 2", dry_run=True) == {"count": 2, "skipped": 0, "dry_run": True}
    assert await queue.count() == 4
    assert (await change("remove", where="payload.n < 2"))["count"] == 2
    assert (await change("edit", where="payload.n = 2", patch={"x": None, "y": 1}, headers={"h": "v"}))["count"] == 1
    assert (await change("reprioritise", where="payload.n = 2", priority=-5))["count"] == 1
    assert (await change("reschedule", where="payload.n = 3", due=None))["count"] == 1
    first, second = await queue.find(order="priority")
    assert (first.payload, first.headers, first.priority) == ({"n": 2, "y": 1}, {"h": "v"}, -5)
    assert second.due_at is None
    assert (await change("requeue", id=second.id))["count"] == 1
    later = "2099-01-01T00:00:00Z"
    assert (await change("reschedule", id=second.id, due=later))["count"] == 1
    assert (await change("transfer", id=second.id, to=f"{name}-b", dry_run=True))["count"] == 1
    assert (await change("transfer", where="payload.n = 3", to=f"{name}-b"))["count"] == 1
    assert [one.id for one in await database.queue(f"{name}-b").find()] == [second.id]
    none_said = await client.post(f"queues/{name}/remove", json={})
    assert none_said.status_code == 422
    assert '"where"' in none_said.json()["detail"]


async def test_a_message_is_cancelled_whoever_works_on_it_and_tells_how_far_it_is(
    client: httpx.AsyncClient, name: str, database: aio.Database
):
    queue = database.queue(name)
    pushed = await queue.push("scan")
    assert await queue.reserve() is not None
    address = f"queues/{name}/messages/{pushed.id}/progress"
    assert (await client.get(address)).json() is None
    told = draft(pushed.id, said(0.4, "page 4 of 10", 1), datetime(2026, 3, 1, tzinfo=UTC))
    await database.queue(f"{name}/progress").push_many([told])
    assert (await client.get(address)).json()["fraction"] == 0.4
    done = await client.post(f"queues/{name}/cancel", json={"id": pushed.id})
    assert done.json() == {"count": 1, "skipped": 0, "dry_run": False}
    assert (await client.get(address)).status_code == 404


async def test_an_operator_asks_where_a_handler_is_and_all_who_see_the_message_read_it(
    client: httpx.AsyncClient, name: str, database: aio.Database, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(cancellation, "LONG", 0.05)
    queue, begun, over = database.queue(name), asyncio.Event(), asyncio.Event()

    async def hang(message: Message) -> None:
        begun.set()
        await over.wait()

    pushed = await queue.push("scan")
    address = f"queues/{name}/messages/{pushed.id}/stack"
    refused = await client.post(address)
    assert (refused.status_code, refused.json()["type"]) == (409, "urn:duerow:problem:not-in-progress")
    worker = aio.Worker(queue, hang, heartbeat=timedelta(milliseconds=100))
    running = asyncio.create_task(worker.run("idle", signals=False))
    await begun.wait()
    told = (await client.post(address)).json()
    assert [frame["function"].rpartition(".")[2] for frame in told["frames"]][-2:] == ["hang", "wait"]
    assert (await client.get(address)).json() == told
    audit = (await client.get("audit", params={"where": f"payload.queue = '{name}'"})).json()["entries"]
    assert [one["action"] for one in audit] == ["stack", "stack"]
    over.set()
    await running
    assert (await client.post(address)).status_code == 404
    assert (await client.get(address)).status_code == 404


async def test_dead_letters_go_back_and_what_ended_is_pushed_again(
    client: httpx.AsyncClient, name: str, database: aio.Database
):
    await database.queue(name, dead_letter=f"{name}-dead", history=timedelta(days=1)).declare()
    await pushed(client, name, {"payload": 1}, {"payload": 2})
    taken = await reserved(client, name, limit=2)
    await settled(
        client,
        name,
        {"receipt": taken[0]["receipt"], "outcome": "bury", "reason": {"message": "no use"}},
        {"receipt": taken[1]["receipt"], "outcome": "commit", "payload": "kept"},
    )
    turns = (await client.get(f"queues/{name}/history", params={"limit": 1})).json()
    onward = (await client.get(f"queues/{name}/history", params={"limit": 5, "after": turns["next"]})).json()
    assert sorted(one["outcome"] for one in turns["turns"] + onward["turns"]) == ["dead", "done"]
    redriven = await client.post(f"queues/{name}-dead/redrive", json={"rate": 100})
    assert redriven.json() == {"count": 1, "skipped": 0, "dry_run": False}
    replayed = await client.post(f"queues/{name}/replay", json={"where": "outcome = 'done'"})
    assert replayed.json()["count"] == 1
    assert sorted(map(str, [one.payload for one in await database.queue(name).find()])) == ["1", "kept"]


async def test_queues_are_paused_resumed_drained_and_purged(
    client: httpx.AsyncClient, name: str, database: aio.Database
):
    await pushed(client, name, {"payload": 1})
    assert (await client.post(f"queues/{name}/pause")).status_code == 204
    assert await reserved(client, name) == []
    await client.post(f"queues/{name}/resume")
    assert (await client.post(f"queues/{name}/purge", json={"confirm": "another"})).status_code == 422
    assert (await client.post(f"queues/{name}/purge", json={"confirm": name})).json()["count"] == 1
    await client.post(f"queues/{name}/drain")
    refused = await client.post(f"queues/{name}/messages", json={"messages": [{"payload": 1}]})
    assert (refused.status_code, refused.json()["type"]) == (409, "urn:duerow:problem:queue-draining")
    await client.post(f"queues/{name}/resume")


async def test_schedules_are_added_shown_and_removed(client: httpx.AsyncClient, name: str):
    made = await client.put(
        f"schedules/{name}", json={"queue": name, "cron": "0 3 * * *", "zone": "Europe/Zagreb", "payload": {"a": 1}}
    )
    assert made.status_code == 200, made.text
    assert len(made.json()["ticks"]) == 5
    assert name in [one["name"] for one in (await client.get("schedules")).json()["schedules"]]
    assert (await client.put(f"schedules/{name}", json={"queue": name})).status_code == 422
    assert (await client.delete(f"schedules/{name}")).status_code == 204
    assert (await client.get(f"schedules/{name}")).status_code == 404


async def test_a_queue_that_the_database_does_not_know_is_a_problem_that_names_the_nearest(
    client: httpx.AsyncClient, name: str
):
    await pushed(client, name, {"payload": 1})
    missing = await client.get(f"queues/{name[:-1]}/stats")
    assert missing.status_code == 404
    assert f"did you mean '{name}'" in missing.json()["detail"]


async def test_a_mistyped_parameter_is_not_ignored(client: httpx.AsyncClient, name: str):
    await pushed(client, name, {"payload": 1})
    wrong = await client.get(f"queues/{name}/messages", params={"wehre": "payload = 2"})
    assert (wrong.status_code, "'wehre'" in wrong.json()["detail"]) == (422, True)
    wrong = await client.post(f"queues/{name}/remove", json={"were": "payload = 2", "id": 1})
    assert (wrong.status_code, wrong.json()["errors"][0]["at"]) == (422, "body/were")


async def test_names_with_slashes_are_names(client: httpx.AsyncClient, name: str):
    await pushed(client, f"{name}%2Fmessages", {"payload": 1})
    await pushed(client, f"{name}/messages/7", {"payload": 2})
    assert [one["message"]["payload"] for one in await reserved(client, f"{name}/messages")] == [1]
    assert (await client.get(f"queues/{name}%2Fmessages%2F7/stats")).json()["queue"] == f"{name}/messages/7"


async def test_what_operators_do_is_in_the_audit(client: httpx.AsyncClient, name: str):
    await pushed(client, name, {"payload": 1})
    await client.post(f"queues/{name}/remove", json={"where": "payload = 1"})
    found = (await client.get("audit", params={"where": f"payload.queue = '{name}'"})).json()["entries"]
    assert [(one["action"], one["means"], one["address"]) for one in found] == [
        ("remove", "local", "127.0.0.1"),
        ("push", "local", "127.0.0.1"),
    ]
    assert found[0]["details"]["where"] == "payload = 1"
    lines = (await client.get("audit", headers={"Accept": "application/x-ndjson"})).text.splitlines()
    assert json.loads(lines[0])["action"] == "remove"
    assert "duerow.audit" not in (await client.get("queues")).json()["queues"]


async def test_messages_of_a_declared_type_are_for_those_who_ask_for_any_kind(
    client: httpx.AsyncClient, name: str, database: aio.Database
):
    await pushed(client, name, {"payload": {"n": 1}, "kind": "shop.Order"})
    assert await reserved(client, name) == []
    (taken,) = await reserved(client, name, any_kind=True)
    assert (taken["message"]["payload"], taken["message"]["kind"], taken["message"]["attempts"]) == (
        {"n": 1},
        "shop.Order",
        1,
    )
    await settled(client, name, {"receipt": taken["receipt"], "outcome": "move", "to": f"{name}-next"})
    (moved,) = await database.queue(f"{name}-next").find()
    assert moved.kind == "shop.Order"


async def test_waiting_for_a_queue_that_hands_nothing_out_does_not_keep_the_database_busy(
    client: httpx.AsyncClient, name: str, database: aio.Database, monkeypatch: pytest.MonkeyPatch
):
    await pushed(client, name, {"payload": 1})
    await database.queue(name).pause()
    asked: list[Any] = []
    run = database.run
    monkeypatch.setattr(database, "run", lambda *plan, **more: asked.append(plan) or run(*plan, **more))
    assert await reserved(client, name, wait_seconds=0.5) == []
    assert len(asked) < 40


async def test_a_message_is_not_lost_to_a_consumer_that_has_gone(name: str, database: aio.Database, tmp_path: Any):
    queue = database.queue(name)
    await queue.declare()
    app = application(database)
    body = json.dumps({"wait_seconds": 60}).encode()
    headers = [(b"host", b"localhost"), (b"content-type", b"application/json")]
    scope = {"type": "http", "method": "POST", "path": f"/api/v1/queues/{name}/reservations", "headers": headers}
    scope |= {"query_string": b"", "client": ("127.0.0.1", 1), "server": ("localhost", 80), "scheme": "http"}
    gone = asyncio.Event()
    messages = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> Any:
        if messages:
            return messages.pop()
        await gone.wait()
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        sent.append(message)

    sent: list[Any] = []
    waiting = asyncio.create_task(app(scope, receive, send))
    await asyncio.sleep(0.2)
    gone.set()
    await asyncio.wait_for(waiting, 30)
    await queue.push("hello")
    assert (await queue.reserve()).message.attempts == 1


async def test_rows_of_a_table_of_ones_own_are_counted_and_requeued(opened: Opened, tmp_path: Path, name: str):
    url = f"sqlite:///{tmp_path / 'own.db'}"
    engine = create_async_engine(f"sqlite+aiosqlite:///{tmp_path / 'own.db'}")
    Base.metadata.create_all(create_engine(url))
    async with await aio.connect(url, migrate=True) as database:
        mails = EntityQueue(Mail.sending, engine)
        async with AsyncSession(engine) as session:
            mail = Mail(id=7, payload=1, headers={})
            mail.sending.schedule()
            session.add(mail)
            await session.commit()
        await mails.bury(await mails.reserve(), "no use")
        client = opened(database, queues=[mails])
        path = f"/api/v1/queues/{mails.name}"
        assert mails.name in (await client.get("/api/v1/queues")).json()["queues"]
        assert (await client.get(f"{path}/stats")).json()["dead"] == 1
        assert (await client.post(f"{path}/requeue", json={"id": 7})).json()["count"] == 1
        assert (await client.post(f"{path}/reschedule", json={"id": 7, "delay_seconds": 60})).json()["count"] == 1
        stats = (await client.get(f"{path}/stats")).json()
        assert (stats["dead"], stats["delayed"]) == (0, 1)
        for verb, body in (("requeue", {"where": "id = 7"}), ("remove", {"id": 7}), ("reservations", {})):
            assert (await client.post(f"{path}/{verb}", json=body)).status_code == 501
    await engine.dispose()
