"""Tables and queues seen from a terminal."""

import json
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import pytest

import duerow
from duerow import Database, Draft, limited
from duerow.encryption import Encryption
from duerow.retry import fixed
from tests.cli.conftest import Command, parsed, run


def test_migrate_creates_the_tables_once(command: Command):
    made = parsed(command("migrate", "--json"))["migrations"]
    names = ["messages", "queues", "schedules", "history", "counters", "pipelines", "batches"]
    assert made == [f"{number:04} {name}" for number, name in enumerate(names, 1)]
    assert parsed(command("migrate", "--json")) == {"migrations": []}
    assert command("migrate").stdout == "the tables are up to date\n"


def test_sql_prints_what_creates_the_tables_and_changes_nothing(command: Command):
    printed = command("sql").stdout
    assert "CREATE TABLE" in printed
    assert parsed(command("sql", "--json"))["sql"] == printed
    assert command("stats").exit_code == 1


def test_stats_counts_the_messages_of_each_queue(command: Command, database: Database):
    orders = database.queue("orders", retry=limited(2, fixed(timedelta(hours=1))))
    for number in range(4):
        orders.push({"order": number})
    orders.rollback(orders.reserve(), error="out of stock")
    orders.bury(orders.reserve(), "no such customer")
    mails = database.queue("mails")
    mails.push_many(
        [Draft("hello"), Draft("later", delay=timedelta(hours=1)), Draft("stopped", key="s"), Draft("first", group="g")]
    )
    mails.push("second", group="g")
    mails.reschedule(key="s", due=None)
    assert len(mails.reserve_many(5)) == 2
    mails.pause()
    database.write_counts()
    told = {line.pop("queue"): line for line in parsed(command("stats", "--json"))}
    assert [told["mails"][name] for name in ("new", "error", "done", "dead", "all")] == [5, 0, 0, 0, 5]
    assert [told["orders"][name] for name in ("new", "error", "done", "dead", "all")] == [2, 1, 0, 1, 4]
    assert told["orders"]["lifetime"] == {"done": 0, "failed": 1, "dead": 1, "moved": 0}
    assert told["orders"]["rates"]["60"]["failed"] == 1 / 60
    assert told["orders"]["waiting_seconds"]["p50"] >= 0
    assert told["orders"]["handling_seconds"] is None
    assert [line["queue"] for line in parsed(command("stats", "orders", "--json"))] == ["orders"]
    numbers = ("ready", "delayed", "leased", "waiting", "stopped", "dead", "paused", "capped")
    assert [told["orders"][name] for name in numbers] == [2, 1, 0, 0, 0, 1, False, []]
    assert [told["mails"][name] for name in numbers] == [0, 1, 2, 1, 1, 0, True, []]
    assert told["mails"]["next_due_at"] > told["orders"]["oldest_due_at"]
    shown = command("stats", "--exact").stdout
    for word in ("ready", "delayed", "leased", "waiting", "stopped", "dead", "done/min", "paused"):
        assert word in shown
    assert "stopped" not in command("stats", "orders").stdout


def test_stats_tells_short_times_in_milliseconds(command: Command, database: Database):
    database.queue("orders").push_many([Draft(1), Draft(2)])
    duerow.Worker(database.queue("orders"), lambda message: None).run(until="empty")
    database.queue("orders").push(3)
    shown = command("stats").stdout
    assert shown.count(" ms") == 2
    assert "e-" not in shown


def test_stats_says_when_there_are_no_queues(command: Command, database: Database):
    assert command("stats").stdout == "the database has no queues\n"


def test_stats_shows_empty_queues_with_what_was_done_in_them(command: Command, database: Database):
    queue = database.queue("orders")
    queue.push("x")
    queue.commit(queue.reserve())
    database.write_counts()
    header, line = (one.split() for one in command("stats").stdout.splitlines())
    assert dict(zip(header, line, strict=False))["done/min"] == "0.2"
    assert parsed(command("stats", "--json"))[0]["lifetime"]["done"] == 1


def test_list_shows_messages_a_page_at_a_time(command: Command, database: Database):
    pushed = [database.queue("orders").push({"order": number}, key=f"o-{number}") for number in range(5)]
    first = parsed(command("list", "orders", "--limit", "2", "--json"))
    assert [message["payload"] for message in first] == [{"order": 0}, {"order": 1}]
    rest = parsed(command("list", "orders", "--after", str(first[-1]["id"]), "--json"))
    assert [message["id"] for message in rest] == [one.id for one in pushed[2:]]
    shown = command("list", "orders", "--limit", "2").stdout
    assert "o-1" in shown
    assert f"--after {first[-1]['id']}" in shown


def test_list_shows_why_a_message_is_dead(command: Command, database: Database):
    orders = database.queue("orders")
    orders.push({"order": 1})
    orders.push({"order": 2})
    orders.bury(orders.reserve(), "no such customer")
    [dead] = parsed(command("list", "orders", "--status", "dead", "--json"))
    assert dead["last_error"]["message"] == "no such customer"
    assert "no such customer" in command("list", "orders", "--status", "dead").stdout


def test_a_text_of_the_users_is_shown_as_it_is(command: Command, database: Database):
    database.queue("orders").push("[bold]not ours[/bold]")
    assert "[bold]not ours[/bold]" in command("list", "orders").stdout


def test_what_would_steer_the_terminal_is_spelled_out(command: Command, database: Database):
    orders = database.queue("orders")
    pushed = orders.push("hello", key="k\x1b[2J\u202e")
    orders.bury(orders.reserve(), "no\x1b]0;title\x07 use")
    for shown in (command("list", "orders").stdout, command("why", "orders", str(pushed.id)).stdout):
        assert "\x1b" not in shown
        assert "no\\x1b]0;title\\x07 use" in shown
    assert "k\\x1b[2J\\u202e" in command("list", "orders").stdout


def test_a_terminal_that_lacks_characters_is_shown_the_others(
    database: Database, url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    database.queue("orders").push({"to": "Zo\u00eb"})
    monkeypatch.setenv("DUEROW_URL", url)
    monkeypatch.setenv("PYTHONIOENCODING", "ascii")
    listed = run("list", "orders", cwd=tmp_path)
    assert (listed.returncode, listed.stderr) == (0, "")
    assert '{"to":"Zo?"}' in listed.stdout
    listed = run("list", "orders", "--json", cwd=tmp_path)
    assert json.loads(listed.stdout)[0]["payload"] == {"to": "Zo\u00eb"}


@dataclass
class Order:
    number: int


def test_list_shows_a_declared_payload_as_json(command: Command, database: Database):
    database.queue("orders", payload=Order).push(Order(7))
    [shown] = parsed(command("list", "orders", "--json"))
    assert (shown["kind"], shown["payload"]) == ("Order", {"number": 7})
    assert '{"number":7}' in command("list", "orders").stdout


def test_list_shows_encrypted_payloads_to_who_has_the_key(
    command: Command, database: Database, url: str, monkeypatch: pytest.MonkeyPatch
):
    key, new = Encryption.new_key(), Encryption.new_key()
    with duerow.connect(url, encryption=Encryption([key])) as sealed:
        sealed.queue("orders").push({"card": "4111"})
    [shown] = parsed(command("list", "orders", "--json"))
    assert list(shown["payload"]) == ["encrypted"]
    monkeypatch.setenv("DUEROW_KEYS", f"{new}, {key}")
    [shown] = parsed(command("list", "orders", "--json"))
    assert shown["payload"] == {"card": "4111"}
    monkeypatch.setenv("DUEROW_KEYS", "nonsense")
    failed = command("list", "orders")
    assert failed.exit_code == 1
    assert "32 random bytes" in failed.stderr
    assert "nonsense" not in failed.output


def test_sql_prints_the_rights_of_roles_under_the_names_that_they_are_given(command: Command):
    asked = ("sql", "--roles", "--db", "postgresql://nobody@localhost/nowhere", "--reader", "Report's")
    printed = command(*asked).stdout
    assert parsed(command(*asked, "--json"))["sql"] == printed
    assert 'GRANT SELECT ON duerow_message TO "Report\'s";\n' in printed
    assert "GRANT SELECT, INSERT, UPDATE, DELETE ON duerow_message TO duerow_producer;\n" in printed
    assert "CREATE" not in printed
    with_schema = command(*asked[:4], "--schema", "jobs", "--prefix", "q_").stdout
    assert "GRANT USAGE ON SCHEMA jobs TO q_consumer;\nGRANT USAGE ON SEQUENCE jobs.q_message_id_seq" in with_schema


def test_sql_says_what_cannot_have_roles_and_what_a_name_is_missing(command: Command):
    for arguments, says in ((("--roles",), "SQLite has no roles"), (("--reader", "r"), "so it also needs --roles")):
        refused = command("sql", *arguments)
        assert (refused.exit_code, refused.stdout) == (1, "")
        assert says in refused.stderr


def test_a_search_ends_after_the_seconds_that_the_environment_says(
    command: Command, database: Database, monkeypatch: pytest.MonkeyPatch
):
    database.queue("orders").push_many([Draft({f"field{n}": n for n in range(100)}) for _ in range(2_000)])
    slow = " or ".join(f"payload.field{n} = 'none'" for n in range(100))
    monkeypatch.setenv("DUEROW_READ_TIMEOUT", "0.001")
    failed = command("find", "orders", slow)
    assert failed.exit_code == 1
    assert "DUEROW_READ_TIMEOUT, in seconds" in " ".join(failed.stderr.split())
    for allowed in ("none", "300"):
        monkeypatch.setenv("DUEROW_READ_TIMEOUT", allowed)
        assert parsed(command("find", "orders", slow, "--json")) == []
    monkeypatch.setenv("DUEROW_READ_TIMEOUT", "soon")
    assert "is neither a number of seconds, such as 300, nor none" in " ".join(
        command("find", "orders", slow).stderr.split()
    )
