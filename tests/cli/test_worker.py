"""Workers started from a terminal."""

import json
import re
import signal
import socket
import subprocess
import sys
from contextlib import closing
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import pytest

from duerow import Database
from tests.cli.conftest import run
from tests.processes import running_program

HANDLERS = """
from pathlib import Path
from duerow import Bury

def ship(message):
    if message.payload == "bad":
        raise Bury("not to be shipped")
    if message.payload == "steer":
        raise Bury("steers\\x1b[2J")
    Path(f"shipped-{message.queue}-{message.payload}").touch()

class Shop:
    @staticmethod
    def ship(message):
        ship(message)

def tell_frozen(message):
    import gc
    Path("frozen").write_text(str(gc.get_freeze_count()))

def wait_for_me(message):
    import time
    print("begun", flush=True)
    time.sleep(0.3)
    Path("waited").touch()
"""


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    (tmp_path / "shop.py").write_text(HANDLERS)
    return tmp_path


def test_a_worker_hands_messages_of_several_queues_to_a_function_of_this_folder(
    shop: Path, url: str, database: Database
):
    database.queue("orders").push("a")
    database.queue("returns").push("b")
    done = run("worker", "shop:ship", "orders", "returns", "--until", "empty", "--db", url, cwd=shop)
    assert done.returncode == 0, done.stderr
    assert (shop / "shipped-orders-a").exists()
    assert (shop / "shipped-returns-b").exists()
    assert database.queues() == []


def test_garbage_collection_skips_what_a_worker_imported(shop: Path, url: str, database: Database):
    database.queue("orders").push("a")
    done = run("worker", "shop:tell_frozen", "orders", "--until", "idle", "--db", url, cwd=shop)
    assert done.returncode == 0, done.stderr
    assert int((shop / "frozen").read_text()) > 10_000


def test_a_worker_takes_a_function_inside_a_class_and_its_errors_do_not_steer_the_terminal(
    shop: Path, url: str, database: Database
):
    database.queue("orders").push("c")
    database.queue("orders").push("steer")
    done = run("worker", "shop:Shop.ship", "orders", "--until", "idle", "--db", url, cwd=shop)
    assert done.returncode == 0
    assert (shop / "shipped-orders-c").exists()
    assert ("\x1b" in done.stderr, "steers\\x1b[2J" in "".join(done.stderr.split())) == (False, True)


def test_in_a_pipe_each_event_of_a_worker_is_one_line_with_its_moment_in_utc(shop: Path, url: str, database: Database):
    database.queue("orders").push("bad")
    done = run("worker", "shop:ship", "orders", "--until", "idle", "--verbose", "--db", url, cwd=shop)
    lines = done.stderr.splitlines()
    assert [
        line for line in lines if not re.match(r"20\d\d-\d\d-\d\d \d\d:\d\d:\d\dZ (INFO|WARNING|ERROR) +\S", line)
    ] == []
    assert any(line.endswith("is buried after attempt 1: not to be shipped") for line in lines), lines


def test_a_worker_logs_one_object_a_line_when_asked_for_json(shop: Path, url: str, database: Database):
    pushed = database.queue("orders").push("bad")
    done = run("worker", "shop:ship", "orders", "--until", "idle", "--json", "--db", url, cwd=shop)
    lines = [json.loads(line) for line in done.stderr.splitlines()]
    [buried] = [line for line in lines if line["level"] == "error"]
    assert (buried["message_id"], buried["queue"], buried["attempt"]) == (pushed.id, "orders", 1)
    assert "not to be shipped" in buried["message"]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_worker_that_is_told_to_end_finishes_what_it_began(
    shop: Path, url: str, database: Database, number: signal.Signals
):
    for payload in range(3):
        database.queue("orders").push(payload)
    program = ["worker", "shop:wait_for_me", "orders", "--db", url]
    with running_program("duerow.cli.main", program, shop) as worker:
        assert worker.stdout.readline() == "begun\n"
        worker.send_signal(number)
        worker.communicate()
        assert worker.returncode == 0
    assert (shop / "waited").exists()
    assert [message.attempts for message in database.queue("orders").find()] == [0, 0]


def test_a_worker_tells_systemd_of_its_end_and_leaves_no_health_file(
    shop: Path, url: str, database: Database, monkeypatch: pytest.MonkeyPatch
):
    database.queue("orders").push("a")
    with closing(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)) as manager:
        manager.bind(str(shop / "notify"))
        monkeypatch.setenv("NOTIFY_SOCKET", str(shop / "notify"))
        options = ("--health-file", "health", "--until", "empty", "--db", url)
        done = run("worker", "shop:ship", "orders", *options, cwd=shop)
        assert done.returncode == 0, done.stderr
        while (last := manager.recv(4096)) != b"STOPPING=1":
            assert b"WATCHDOG=1" in last
    assert (shop / "shipped-orders-a").exists()
    assert not (shop / "health").exists()


@pytest.mark.soak
def test_a_worker_starts_again_when_a_source_file_changes(shop: Path, url: str, database: Database):
    program = [sys.executable, "-m", "duerow.cli.main", "worker", "shop:wait_for_me", "orders", "--reload", "--db", url]
    worker = subprocess.Popen(program, cwd=shop, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    assert worker.stdout is not None
    database.queue("orders").push(1)
    assert worker.stdout.readline() == "begun\n"
    (shop / "shop.py").write_text(HANDLERS.replace("begun", "begun anew"))
    database.queue("orders").push(2)
    while (line := worker.stdout.readline()) == "begun\n":
        database.queue("orders").push(3)
    assert line == "begun anew\n"
    worker.send_signal(signal.SIGTERM)
    worker.communicate(timeout=600)
    assert database.queue("orders").count(status="dead") == 0


TYPED = """
from dataclasses import dataclass
from decimal import Decimal
from datetime import timedelta
from pathlib import Path

@dataclass
class Order:
    price: Decimal

def ship(message):
    Path(f"shipped-{type(message.payload).__name__}-{message.payload.price + 1}").touch()
"""


def test_a_worker_is_told_the_declared_type_of_its_payloads(tmp_path: Path, url: str, database: Database):
    (tmp_path / "priced.py").write_text(TYPED)
    database.queue("orders").push({"price": "1.50"})
    options = ("--payload", "priced:Order", "--until", "empty", "--db", url)
    done = run("worker", "priced:ship", "orders", *options, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "shipped-Order-2.50").exists()


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("priced:Orders", "has no type 'Orders'; did you mean 'Order'?"),
        ("pricing:Order", "there is no module 'pricing' in this folder or among the installed packages; did you mean"),
        ("priced:ship", "which is not a type"),
        ("priced", "MODULE:TYPE"),
        ("priced:Path", "declared type must be"),
    ],
)
def test_a_type_that_cannot_be_declared_is_told(tmp_path: Path, url: str, database: Database, name: str, says: str):
    (tmp_path / "priced.py").write_text(TYPED)
    done = run("worker", "priced:ship", "orders", "--payload", name, "--until", "idle", "--db", url, cwd=tmp_path)
    assert done.returncode == 1
    assert says in " ".join(done.stderr.split())


def test_a_worker_goes_by_what_is_declared_of_its_queue(shop: Path, url: str, database: Database):
    database.queue("orders", lease=timedelta(minutes=7), dead_letter="orders-dead").declare()
    database.queue("orders").push("bad")
    done = run("worker", "shop:ship", "orders", "--until", "empty", "--db", url, cwd=shop)
    assert done.returncode == 0, done.stderr
    assert "differs from its stored definition" not in done.stderr
    assert [letter.payload for letter in database.queue("orders-dead").find()] == ["bad"]


def test_a_worker_takes_a_heartbeat_that_its_lease_outlasts(shop: Path, url: str, database: Database):
    database.queue("orders").push("a")
    options = ("orders", "--until", "empty", "--lease", "6", "--db", url)
    refused = run("worker", "shop:ship", *options, "--heartbeat", "3", cwd=shop)
    assert (refused.returncode, database.queue("orders").count("attempts = 0")) == (1, 1)
    assert "a third of the lease" in refused.stderr
    done = run("worker", "shop:ship", *options, "--heartbeat", "0.5", cwd=shop)
    assert done.returncode == 0, done.stderr
    assert (shop / "shipped-orders-a").exists()


def test_a_worker_that_does_not_know_the_kind_of_messages_leaves_them_and_its_exit_code_says_so(
    shop: Path, url: str, database: Database
):
    @dataclass
    class OrderPlaced:
        n: int

    database.queue("orders", payload=OrderPlaced).push(OrderPlaced(1))
    database.queue("orders").push("a")
    done = run("worker", "shop:ship", "orders", "--until", "idle", "--json", "--db", url, cwd=shop)
    assert done.returncode == 3
    assert (shop / "shipped-orders-a").exists()
    [line] = [line for line in map(json.loads, done.stderr.splitlines()) if line["level"] == "error"]
    assert (line["kinds"], line["count"], line["queue"]) == (["OrderPlaced"], 1, "orders")
    [left] = database.queue("orders").find()
    assert (left.status, left.attempts, left.leased_by) == ("new", 0, None)
