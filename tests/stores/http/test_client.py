"""A client and a real server: tokens, restarts, sizes, and what the server sees."""

from __future__ import annotations

import asyncio
import logging
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from typer.testing import CliRunner

import duerow
from duerow import Draft, Worker, aio
from duerow.cli.application import app
from duerow.encryption import Encryption
from duerow.errors import ConfigurationError, DuplicateKey, InvalidMessage, QueueDraining, StoreUnavailable
from duerow.queue.beside import marked
from duerow.testing.clock import MovableClock, hours
from duerow.testing.conformance.fixtures import OpenDatabase, Place
from duerow.testing.faces import Face
from duerow.testing.worker_harness import eventually
from duerow.web import Account, Accounts, application, digest
from duerow.worker import maintenance
from tests.stores.http.conftest import Houses

WORKER = "duerow_of-the-worker"


@pytest.fixture
def near(memory_url: str, db: duerow.Database, clock: MovableClock) -> Iterator[duerow.Database]:
    """The database, from beside it."""
    with duerow.connect(memory_url, clock=clock) as database:
        yield database


@contextmanager
def served(port: int, database: str) -> Iterator[int]:
    """Serve a database on a port while a block runs."""
    with socket.create_server(("127.0.0.1", port), reuse_port=False) as listening:
        config = uvicorn.Config(application(database), log_level="error", timeout_graceful_shutdown=1)
        server = uvicorn.Server(config)
        thread = threading.Thread(target=lambda: asyncio.run(server.serve([listening])), daemon=True)
        thread.start()
        try:
            yield int(listening.getsockname()[1])
        finally:
            server.should_exit = True
            thread.join(30)


def test_a_server_that_is_started_again_is_found_again(face: Face, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'queues.db'}"
    duerow.connect(url, migrate=True).close()
    with ExitStack() as ends:
        with served(0, url) as port:
            database = ends.enter_context(face.connect(f"http://127.0.0.1:{port}", retries=0))
            database.queue("mail").push(1)
            taken = database.queue("mail").reserve()
            assert taken is not None
        with pytest.raises(
            StoreUnavailable, match=rf"http://127\.0\.0\.1:{port} did not answer messages\.push"
        ) as gone:
            database.queue("mail").push("lost")
        assert gone.value.outcome == "none"
        with served(port, url):
            database.queue("mail").push(2)
            taken.commit()
            assert [one.payload for one in database.queue("mail").find()] == [2]


@pytest.mark.parametrize("token", ["", "duerow_wrong"])
def test_who_has_no_account_does_not_come_in_and_the_token_is_not_shown(
    face: Face, place: Place, token: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    scheme, _, rest = place.url.partition("://")
    with pytest.raises(ConfigurationError, match="write https://TOKEN@host/path") as refused:
        face.connect(f"{scheme}://{token and f'{token}@'}{rest.partition('@')[2]}")
    assert "duerow_" not in str(refused.value)
    assert "duerow_" not in caplog.text


def test_nothing_that_is_shown_or_logged_has_the_token(
    face: Face, place: Place, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    with face.connect(place.url) as database:
        database.queue("mail").push(1)
        shown = [repr(one) for one in (database, database.connections, database.store, database.queue("mail"))]
        shown += [repr(vars(database.connections)), repr(database.connections.place)]
    assert "token-of-the-tests" not in " ".join([*shown, caplog.text])


def test_an_account_for_some_queues_has_those_alone(houses: Houses, memory_url: str, face: Face) -> None:
    async def opening() -> aio.Database:
        return await aio.connect(memory_url)

    accounts = Accounts({"shop": Account({"orders*": "worker"}, None, {"t": digest(WORKER)})})
    with face.connect(houses.open(opening, WORKER, users=accounts)) as database:
        orders = database.queue("orders", dead_letter="orders-dead", history=hours(1), remember_keys=hours(1))
        orders.push_many([Draft(number, key=str(number)) for number in range(3)])
        first, second = orders.reserve_many(2)
        first.commit(then=[Draft("next", queue="orders/next")])
        second.bury("no use")
        assert [one.payload for one in database.queue("orders-dead").find()] == [1]
        assert orders.pop() is not None
        assert len(orders.history()) == 3
        for forbidden in (
            lambda: database.queue("salaries").push(1),
            lambda: database.queue("salaries").find(),
            lambda: orders.pause(),
            lambda: orders.remove(where="payload = 2"),
            lambda: orders.purge("orders"),
        ):
            with pytest.raises(ConfigurationError, match=r"does not allow .*: shop may not"):
                forbidden()


def test_maintenance_by_an_account_for_some_queues_leaves_the_results_of_others(
    houses: Houses, memory_url: str, face: Face
) -> None:
    async def opening() -> aio.Database:
        return await aio.connect(memory_url)

    roles = {"*": "viewer", "orders*": "worker"}
    accounts = Accounts({"shop": Account(roles, None, {"t": digest(WORKER)})})
    url = houses.open(opening, WORKER, users=accounts)
    with duerow.connect(memory_url) as near, face.connect(url) as far:
        for name in ("catalogue/results", "orders/results", "salaries/results"):
            near.queue(name).push(marked(name, {}))
        assert far.maintain().pruned == 1
        assert near.queues() == ["catalogue/results", "salaries/results"]


def test_a_worker_of_some_queues_follows_their_limits_and_goes_on_without_charts(
    houses: Houses, memory_url: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    for name in ("SETTLED_IN", "FIRST_CHARTED", "PRESENT"):
        monkeypatch.setattr(maintenance, name, 0.0)
    clock = MovableClock()

    async def opening() -> aio.Database:
        return await aio.connect(memory_url, clock=clock)

    accounts = Accounts({"shop": Account({"orders*": "worker"}, None, {"t": digest(WORKER)})})
    url = houses.open(opening, WORKER, users=accounts)
    with duerow.connect(memory_url, clock=clock) as near, duerow.connect(url) as far:
        near.queue("orders").limit(concurrency=3)
        near.queue("orders").push("counted")
        near.queue("orders").commit_many(near.queue("orders").reserve_many(1))
        near.write_counts()
        clock.advance(hours(1))
        worker = Worker(far.queue("orders"), print)
        running = threading.Thread(target=lambda: worker.run(signals=False))
        running.start()
        eventually(lambda: "the data for the last day's charts is not kept" in caplog.text)
        eventually(lambda: worker._run is not None and worker._run.limits.concurrency == 3)
        near.queue("orders").push("after")
        eventually(lambda: near.queue("orders").count() == 0)
        worker.stop()
        running.join()
    assert caplog.text.count("is not kept") == 1


def test_a_request_that_is_too_large_is_refused_here_and_there(face: Face, houses: Houses, memory_url: str) -> None:
    async def opening() -> aio.Database:
        return await aio.connect(memory_url)

    with face.connect(houses.open(opening, max_body_bytes=100_000)) as database:
        queue = database.queue("mail")
        for largest in (100_000, None):
            database.store.messages._requests.largest = largest  # type: ignore[attr-defined]
            with pytest.raises(InvalidMessage, match="100,000"):
                queue.push_many([Draft("x" * 1_000)] * 200)
            assert queue.count() == 0
        queue.push_many([Draft("x" * 1_000)] * 50)


def test_what_the_server_sees_of_encrypted_payloads_is_sealed(
    open_database: OpenDatabase, near: duerow.Database
) -> None:
    far = open_database(encryption=Encryption([Encryption.new_key()]))
    far.queue("mail").push({"card": "4111-1111"})
    [record] = near.run(lambda: near.store.operations.peek("mail", 1))
    assert (record.kind, "4111-1111" in record.payload) == ("json+encrypted", False)
    [mine] = far.queue("mail").reserve_many(1)
    assert mine.message.payload == {"card": "4111-1111"}


def test_the_command_takes_the_same_url(place: Place, near: duerow.Database) -> None:
    near.queue("mail").push({"to": "ana"})
    looked = CliRunner().invoke(app, ["list", "mail", "--json"], env={"DUEROW_URL": place.url, "COLUMNS": "200"})
    assert looked.exit_code == 0, looked.output
    assert '"to": "ana"' in looked.stdout or '"to":"ana"' in looked.stdout
    wrong = place.url.replace("duerow_", "duerow_not-")
    refused = CliRunner().invoke(app, ["list", "mail"], env={"DUEROW_URL": wrong, "COLUMNS": "200"})
    assert refused.exit_code != 0
    assert "refuses this token" in refused.stderr
    assert "duerow_not" not in refused.output


ERRORS: dict[type[Exception], Callable[[duerow.Database], Any]] = {
    DuplicateKey: lambda db: db.queue("mail").push(2, key="k", on_duplicate="reject"),
    QueueDraining: lambda db: (db.queue("closed").drain(wait=False), db.queue("closed").push(1)),
    duerow.errors.MessageLeased: lambda db: db.queue("mail").edit(key="k", payload=3),
    duerow.errors.InvalidCondition: lambda db: db.queue("mail").find("payload."),
    duerow.errors.UnknownName: lambda db: db.schedules() or db.pause_schedule("nightly"),
}


@pytest.mark.parametrize("kind", ERRORS, ids=lambda kind: kind.__name__)
def test_errors_are_the_same_here_as_beside_the_database(
    db: duerow.Database, near: duerow.Database, kind: type[Exception]
) -> None:
    db.queue("mail").push(1, key="k")
    db.queue("mail").reserve()
    raised: list[Exception] = []
    for database in (db, near):
        with pytest.raises(kind) as caught:
            ERRORS[kind](database)
        raised.append(caught.value)
    assert [str(one) for one in raised[:1]] == [str(one) for one in raised[1:]]
    assert vars(raised[0]) == vars(raised[1])
