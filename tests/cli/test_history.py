"""The commands about what became of messages."""

from __future__ import annotations

from datetime import timedelta

from duerow import Commit, Database
from tests.cli.conftest import Command, parsed


def test_what_a_handler_has_logged_is_shown_with_its_message(command: Command, database: Database):
    queue = database.queue("orders", history=timedelta(days=7))
    queue.push({"n": 1})
    reservation = queue.reserve()
    assert reservation is not None
    assert queue.settle([(reservation, Commit(log="INFO shop: paid\nINFO shop: sent"))]) == []
    shown = command("show", "orders", str(reservation.message.id)).stdout
    assert "log of attempt 1 in orders\n    INFO shop: paid\n    INFO shop: sent\n" in shown
    [event] = parsed(command("history", "orders", "--json"))
    assert (event["log"], event["error"]) == ("INFO shop: paid\nINFO shop: sent", None)


def test_history_is_shown_and_what_ended_is_pushed_again(command: Command, database: Database):
    queue = database.queue("orders", history=timedelta(days=7))
    for number in range(3):
        queue.push({"n": number}, key=f"k-{number}")
    first, second, third = queue.reserve_many(3)
    queue.commit(first)
    queue.bury(second, "no use")
    queue.rollback(third, delay=timedelta(hours=1), error="no line")
    [event] = parsed(command("history", "orders", "outcome = 'dead' and payload.n = 1", "--json"))
    assert (event["id"], event["payload"], event["error"]["message"]) == (second.message.id, {"n": 1}, "no use")
    assert len(parsed(command("history", "orders", "--id", str(first.message.id), "--limit", "5", "--json"))) == 1
    shown = command("history", "orders").stdout
    assert all(word in shown for word in ("done", "dead", "failed", "no use"))
    assert command("replay", "orders", "--where", "payload.n < 5", "--dry-run").stdout == "2 would be pushed again\n"
    assert command("replay", "orders", "--id", str(first.message.id)).stdout == "1 pushed again\n"
    done = parsed(command("replay", "orders", "--where", "payload.n < 5", "--limit", "2", "--json"))
    assert (done["count"], done["skipped"], len(done["ids"])) == (1, 1, 1)
    result = command("replay", "orders", "--id", str(third.message.id))
    assert result.exit_code == 1
    assert "does not contain the end of message" in result.stderr
