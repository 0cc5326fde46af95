"""Workers of a program's own queues, started by their names: one definition holds everywhere."""

from __future__ import annotations

from pathlib import Path

import pytest

from duerow import Database
from tests.cli.conftest import run

PROGRAM = """
import os
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import duerow
from duerow import aio, fixed, limited
from duerow.contrib.starlette import StarletteQueues

@dataclass
class OrderPlaced:
    n: int

db = duerow.connect(os.environ["SHOP_URL"])
once = limited(1, fixed(timedelta(0)))
mail = db.queue("mail", payload=OrderPlaced, retry=once, dead_letter="mail-dead")
sms = db.queue("sms", retry=once, dead_letter="sms-dead")
bare = db.queue("bare")
twice_a, twice_b = db.queue("twice", retry=once), db.queue("twice")

def touch(message):
    Path(f"{message.queue}-{type(message.payload).__name__}").touch()

@mail.handler
def send(message):
    touch(message)
    if message.payload.n < 0:
        raise ValueError("no such order")

@sms.handler(concurrency=2)
def text(message):
    touch(message)

async def send_soon(message):
    send(message)

worker = duerow.Worker(sms, text)
both = [worker, mail]

declared = StarletteQueues(os.environ["SHOP_URL"])
declared_sms = declared.queue("sms", retry=once, dead_letter="sms-dead")
declared_sms.handler(text)

async def awaited():
    db = await aio.connect(os.environ["SHOP_URL"])
    mail = db.queue("mail", payload=OrderPlaced, retry=once, dead_letter="mail-dead")
    mail.handler(send_soon)
    return db
"""

NEGATIVE = '{"n":-1}'


@pytest.fixture
def shop(tmp_path: Path, url: str, database: Database, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the program, and in each queue a message that is well and in one of them one that fails."""
    (tmp_path / "shop.py").write_text(PROGRAM)
    (tmp_path / "letters.py").write_text("import shop\n\ndef handle(message):\n    shop.send(message)\n")
    (tmp_path / "alone.py").write_text("def handle(message):\n    pass\n")
    monkeypatch.setenv("SHOP_URL", url)
    from duerow.store import Entry

    entries = [Entry("mail", None, "OrderPlaced", text, None, None, None) for text in ('{"n":1}', NEGATIVE)]
    database.run(lambda: database.store.messages.push(entries, "ignore"))
    database.queue("sms").push("hello")
    return tmp_path


def letters(database: Database, queue: str) -> list[str]:
    """What is kept in a dead-letter queue, as it is stored."""
    return [str(message.payload) for message in database.queue(queue).find()]


@pytest.mark.parametrize(
    "named",
    [
        pytest.param(["shop:mail"], id="a queue with its handler"),
        pytest.param(["shop:send", "mail"], id="a function and a queue that its module has"),
        pytest.param(["shop:send_soon", "mail"], id="an async function and a queue that its module has"),
        pytest.param(["letters:handle", "mail"], id="a function and a queue that another module has"),
        pytest.param(["shop:awaited"], id="a function that returns an awaited database"),
    ],
)
def test_type_policy_and_dead_letters_of_a_queue_hold_for_the_command_though_nobody_declared_them(
    shop: Path, url: str, database: Database, named: list[str]
) -> None:
    done = run("worker", *named, "--until", "empty", "--db", url, cwd=shop)
    assert done.returncode == 0, done.stderr
    assert (shop / "mail-OrderPlaced").exists()
    assert database.queue("mail").find() == []
    assert letters(database, "mail-dead") == [NEGATIVE]
    assert database.queue("mail").definition() is None


@pytest.mark.parametrize(
    "named",
    [
        pytest.param("shop:db", id="a database whose queues have handlers"),
        pytest.param("shop:both", id="a list of workers and queues"),
    ],
)
def test_what_has_several_queues_has_a_worker_for_each(
    shop: Path, url: str, database: Database, named: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DUEROW_URL", raising=False)
    done = run("worker", named, "--until", "empty", cwd=shop)
    assert done.returncode == 0, done.stderr
    assert (shop / "mail-OrderPlaced").exists()
    assert (shop / "sms-str").exists()
    assert database.queues() == ["mail-dead"]


def test_a_worker_of_the_programs_own_runs_as_it_was_made(shop: Path, database: Database) -> None:
    done = run("worker", "shop:worker", "--until", "empty", cwd=shop)
    assert done.returncode == 0, done.stderr
    assert (shop / "sms-str").exists()


def test_the_queues_of_an_extension_are_named_as_one(shop: Path, database: Database) -> None:
    done = run("worker", "shop:declared", "--until", "empty", cwd=shop)
    assert done.returncode == 0, done.stderr
    assert (shop / "sms-str").exists()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["shop:declared_sms"], "as in duerow worker shop:queues"),
        (["shop:bare"], "which has no handler: put @QUEUE.handler"),
        (["shop:send"], "is a handler: name its queues too"),
        (["shop:worker", "--batch", "3"], "leave out --batch"),
        (["shop:OrderPlaced"], "name a function and its queues"),
        (["shop:send", "twice"], "differ in retry"),
        (["shop:mail", "--payload", "shop:OrderPlaced"], "--payload is for a function"),
        (["shop:mail", "mail"], "not a function: leave the queues out"),
    ],
)
def test_what_cannot_be_worked_with_is_told_before_anything_happens(
    shop: Path, url: str, database: Database, arguments: list[str], says: str
) -> None:
    done = run("worker", *arguments, "--until", "idle", "--db", url, cwd=shop)
    assert done.returncode == 1
    assert says in " ".join(done.stderr.split())
    assert database.queue("mail").count() == 2


def test_a_function_without_a_database_is_told_to_say_one(shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DUEROW_URL", raising=False)
    done = run("worker", "shop:send", "mail", "--until", "idle", cwd=shop)
    assert done.returncode == 1
    assert "give --db URL or set DUEROW_URL" in " ".join(done.stderr.split())


def test_a_queue_of_which_neither_program_nor_database_says_anything_is_told_at_the_start(
    shop: Path, url: str, database: Database
) -> None:
    done = run("worker", "alone:handle", "sms", "--until", "idle", "--db", url, cwd=shop)
    assert "neither module alone nor the database defines it" in " ".join(done.stderr.split())
    database.queue("sms").declare()
    again = run("worker", "alone:handle", "sms", "--until", "idle", "--db", url, cwd=shop)
    assert (done.returncode, again.returncode) == (0, 0)
    assert "nor the database" not in " ".join(again.stderr.split())
