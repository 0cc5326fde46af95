"""The commands that operators use beside those that look."""

from __future__ import annotations

import time
from datetime import timedelta

from duerow import Database, fixed, limited
from duerow.queue.beside import marked
from duerow.queue.limits import RunLimits
from tests.cli.conftest import Command, parsed


def test_why_tells_every_reason(command: Command, database: Database):
    pushed = database.queue("orders").push("hello", key="k")
    assert command("why", "orders", str(pushed.id)).stdout.startswith("no-consumer: ")
    database.queue("orders").pause()
    assert [reason["code"] for reason in parsed(command("why", "orders", "--key", "k", "--json"))] == [
        "paused",
        "no-consumer",
    ]


def test_why_of_a_message_that_is_not_there_is_a_line_with_exit_code_5(command: Command, database: Database):
    database.queue("orders").declare()
    result = command("why", "orders", "7")
    assert result.exit_code == 5
    assert "has no message with id 7" in result.stderr


def test_maintain_deletes_results_that_are_due_and_remove_those_that_0_2_has_not_marked(
    command: Command, database: Database
):
    results = database.queue("mail/results")
    results.push(marked(results.name, {"task": "send"}))
    unmarked = results.push({"task": "send"})
    kept = results.push({"task": "send"}, delay=timedelta(hours=1))
    assert command("maintain").stdout == "0 pushed by schedules, 1 expired turns, keys and results removed\n"
    assert [one.id for one in results.find()] == [unmarked.id, kept.id]
    until = results.get(unmarked.id).due_at  # type: ignore[union-attr]
    where = f"kind like 'json%' and due_at <= '{until.isoformat()}'"  # type: ignore[union-attr]
    assert command("remove", "mail/results", "--where", where).exit_code == 0
    assert [one.id for one in results.find()] == [kept.id]


def test_a_queue_is_paused_and_resumed(command: Command, database: Database):
    queue = database.queue("orders")
    queue.push("hello")
    assert command("pause", "orders").stdout == "orders is paused\n"
    assert queue.stats().paused
    assert command("resume", "orders").stdout == "orders is resumed\n"
    assert not queue.stats().paused
    assert parsed(command("pause", "orders", "--json")) == {"queue": "orders", "paused": True}
    assert parsed(command("resume", "orders", "--json")) == {"queue": "orders", "paused": False, "draining": False}


def test_what_workers_may_do_is_shown_set_and_cleared(command: Command, database: Database):
    queue = database.queue("orders")
    queue.push("hello")
    assert command("limit", "orders").stdout == "orders: no limits except those that each worker was started with\n"
    said = command("limit", "orders", "--concurrency", "2", "--rate", "100", "--per", "0.5").stdout
    assert said == "orders: each worker runs at most 2 at once; each worker starts at most 100 in 0.5 s\n"
    set_, span = queue.limits(), timedelta(seconds=0.5)
    assert (set_.concurrency, set_.cluster_concurrency, set_.rate, set_.rate_span) == (2, None, 100, span)
    assert command("limit", "orders").stdout == said
    assert parsed(command("limit", "orders", "--cluster-concurrency", "3", "--json")) == {
        "queue": "orders",
        "concurrency": None,
        "cluster_concurrency": 3,
        "rate": None,
        "per": None,
    }
    for wrong in (["--per", "5"], ["--clear", "--concurrency", "2"], ["--concurrency", "99999"]):
        assert command("limit", "orders", *wrong).exit_code == 1
    assert queue.limits().cluster_concurrency == 3
    assert parsed(command("limit", "orders", "--clear", "--json"))["cluster_concurrency"] is None
    assert queue.limits() == RunLimits()
    assert [entry["action"] for entry in parsed(command("audit", "--json"))] == ["limit"] * 3


def test_dead_letters_go_back(command: Command, database: Database):
    queue = database.queue("orders", dead_letter="orders-dead")
    for number in range(3):
        queue.push(number)
    queue.bury_many(queue.reserve_many(3), "no use")
    assert command("redrive", "orders-dead", "--dry-run").stdout == "3 could go back\n"
    assert (
        command("redrive", "orders-dead", "--where", "payload > 2").stdout
        == "0 went back: no dead letter matches the condition\n"
    )
    assert command("redrive", "orders-dead", "--limit", "2").stdout == "2 went back\n"
    assert parsed(command("redrive", "orders-dead", "--json")) == {"count": 1, "skipped": 0}
    assert queue.count() == 3


def test_a_redrive_that_finds_nothing_says_where_it_looked_and_who_knows_the_dead_letter_queue(
    command: Command, database: Database
):
    known = database.queue("orders", dead_letter="orders-dead")
    known.push("dies")
    known.bury(known.reserve(), "no use")
    known.push("stays")
    told = command("redrive", "orders").stdout
    assert told.startswith("0 went back: orders itself has no dead letters. This database has no definition of orders;")
    assert told.endswith("redrive that queue, or let the program declare orders\n")
    known.declare()
    assert command("redrive", "orders").stdout == "1 went back\n"
    assert command("redrive", "orders", "--dry-run").stdout == (
        "0 could go back: orders has no dead letters, neither in orders-dead nor in orders itself\n"
    )
    database.queue("bills").declare()
    assert command("redrive", "bills").stdout == (
        "0 went back: bills has no dead letters, and is declared without a dead-letter queue\n"
    )


def test_commands_go_by_what_is_declared_of_a_queue(command: Command, database: Database):
    declared = database.queue("orders", retry=limited(1, fixed(timedelta(0))), dead_letter="orders-dead")
    assert command("queues").stdout == "no queue is declared, paused or draining\n"
    declared.declare()
    pushed = declared.push("dies")
    declared.bury(declared.reserve(), "no use")
    assert command("redrive", "orders", "--rate", "50").stdout == "1 went back\n"
    declared.reserve(lease=timedelta(milliseconds=1))
    time.sleep(0.01)
    assert "limit: its attempts are used up (1 of 1)" in command("why", "orders", str(pushed.id)).stdout
    [one] = parsed(command("queues", "--json"))
    assert (one["name"], one["definition"]["dead_letter"]) == ("orders", "orders-dead")
    assert "orders-dead" in command("queues", "orders").stdout
    database.queue("billing").push("x")
    assert command("queues", "billing").stdout == "billing is not declared, paused or draining\n"


def test_a_queue_is_drained_and_resumed(command: Command, database: Database):
    queue = database.queue("orders")
    queue.push("hello")
    assert command("drain", "orders", "--no-wait").stdout == "orders accepts no new messages\n"
    told = parsed(command("drain", "orders", "--no-wait", "--json"))
    assert told == {"queue": "orders", "draining": True, "empty": None}
    assert "draining" in command("queues").stdout
    late = command("drain", "orders", "--timeout", "0")
    assert (late.exit_code, "still has messages" in late.stderr) == (1, True)
    queue.pop()
    assert command("drain", "orders").stdout == "orders accepts no new messages and is empty\n"
    command("resume", "orders")
    assert queue.push("hello").outcome == "created"
