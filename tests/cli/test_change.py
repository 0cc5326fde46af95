"""Messages found and changed from a terminal."""

import pytest

from duerow import Database, Queue
from duerow.errors import LeaseLost
from tests.cli.conftest import Command, parsed


@pytest.fixture
def orders(database: Database) -> Queue:
    """Four orders of two companies, the first of them dead."""
    orders = database.queue("orders")
    for number in range(4):
        orders.push({"companyId": number % 2, "order": number}, key=f"o-{number}")
    orders.bury(orders.reserve(), "no such customer")
    return orders


def test_find_shows_the_messages_of_a_condition(command: Command, orders: Queue):
    found = parsed(command("find", "orders", "payload.companyId = 1 and status = 'new'", "--json"))
    assert [message["key"] for message in found] == ["o-1", "o-3"]
    assert "o-3" in command("find", "orders", "payload.order > 2").stdout
    assert command("find", "orders", "payload.order > 5").stdout == "no messages\n"
    ordered = parsed(command("find", "orders", "--order", "-id", "--limit", "2", "--json"))
    assert [message["key"] for message in ordered] == ["o-3", "o-2"]
    assert len(parsed(command("find", "orders", "--after", str(ordered[1]["id"]), "--json"))) == 1
    page = command("find", "orders", "--order", "-due_at", "--limit", "2").stdout
    assert page.endswith(f"there may be more; continue with --after {ordered[1]['id']}\n")
    rest = parsed(command("find", "orders", "--order", "-due_at", "--after", str(ordered[1]["id"]), "--json"))
    assert [message["key"] for message in rest] == ["o-1", "o-0"]
    gone = command("find", "orders", "--order", "due_at", "--after", "99")
    assert (gone.exit_code, "no longer has message 99" in gone.stderr) == (5, True)


def test_find_counts_messages_and_counts_them_by_a_field(command: Command, orders: Queue):
    assert command("find", "orders", "payload.companyId = 1", "--count").stdout == "2\n"
    assert parsed(command("find", "orders", "payload.order > 0", "--count", "--json")) == {"count": 3, "capped": False}
    by = parsed(command("find", "orders", "payload.order > 0", "--by", "payload.companyId", "--json"))
    assert by == {"counts": [{"value": 1, "count": 2}, {"value": 0, "count": 1}], "capped": False}
    assert "payload.companyId" in command("find", "orders", "--by", "payload.companyId").stdout


def test_a_condition_that_cannot_be_read_is_a_line_and_exit_code_1(command: Command, orders: Queue):
    for arguments in (("find", "orders", "order = 1"), ("remove", "orders", "--where", "order = 1")):
        result = command(*arguments)
        assert result.exit_code == 1
        assert "duerow: a message has no field 'order'" in result.stderr


def test_edit_changes_payload_and_headers(command: Command, orders: Queue):
    done = command("edit", "orders", "--where", "payload.order > 1", "--patch", '{"order": null}', "--dry-run")
    assert done.stdout == "2 would be edited\n"
    assert orders.count("payload.order is null") == 0
    arguments = ["--where", "payload.order > 1", "--patch", '{"order": null}', "--headers", '{"seen": true}']
    assert parsed(command("edit", "orders", *arguments, "--json")) == {"count": 2, "skipped": 0, "dry_run": False}
    assert [message.headers for message in orders.find("payload.order is null")] == [{"seen": True}] * 2
    command("edit", "orders", "--key", "o-1", "--payload", "[1]")
    assert orders.find(key="o-1")[0].payload == [1]


def test_edit_refuses_what_is_no_json_or_nothing(command: Command, orders: Queue):
    for arguments, says in (
        (("--key", "o-1", "--payload", "{"), "--payload is not valid JSON"),
        (("--key", "o-1"), "the edit changes nothing: give --payload, --patch"),
        (("--payload", "1"), "give exactly one of an id, a key and a condition"),
    ):
        result = command("edit", "orders", *arguments)
        assert result.exit_code == 1
        assert says in result.stderr


def test_requeue_and_remove_leave_what_is_at_work(command: Command, orders: Queue):
    assert command("requeue", "orders", "--where", "status = 'dead'").stdout == "1 requeued\n"
    orders.reserve()
    done = command("remove", "orders", "--where", "payload.companyId = 1")
    assert done.stdout == "1 removed, 1 skipped (leased, or their key is taken)\n"
    leased = command("remove", "orders", "--key", "o-1")
    assert (leased.exit_code, "is leased by" in leased.stderr) == (1, True)
    assert command("remove", "orders", "--key", "o-1", "--even-if-leased").stdout == "1 removed\n"
    assert sorted(message.key or "" for message in orders.find()) == ["o-0", "o-2"]


def test_cancel_takes_live_messages_away_from_their_consumers_too(command: Command, orders: Queue):
    reservation = orders.reserve()
    assert reservation is not None
    assert command("cancel", "orders", "--where", "payload.companyId = 1", "--dry-run").exit_code == 0
    done = command("cancel", "orders", "--id", str(reservation.message.id))
    assert done.stdout == "1 cancelled\n"
    with pytest.raises(LeaseLost):
        reservation.commit()
    dead = orders.find("status = 'dead'")[0]
    assert command("cancel", "orders", "--id", str(dead.id)).exit_code == 1
    assert orders.get(dead.id) is not None


def test_reschedule_and_reprioritise(command: Command, orders: Queue):
    assert command("reschedule", "orders", "--key", "o-1", "--stop").stdout == "1 stopped\n"
    assert [message.key for message in orders.find("due_at is null and status = 'new'")] == ["o-1"]
    late = ["--due", "2030-03-01T12:00:00Z"]
    assert command("reschedule", "orders", "--where", "payload.order > 1", *late).stdout == "2 rescheduled\n"
    assert orders.count("due_at = '2030-03-01T12:00:00Z'") == 2
    assert (
        command("reschedule", "orders", "--key", "o-2", "--delay", "0", "--dry-run").stdout
        == "1 would be rescheduled\n"
    )
    assert parsed(command("reschedule", "orders", "--key", "o-1", "--delay", "0", "--json"))["count"] == 1
    assert command("reprioritise", "orders", "--key", "o-3", "--", "-5").stdout == "1 reprioritised\n"
    assert [message.key for message in orders.find("priority = -5")] == ["o-3"]


def test_reschedule_wants_one_time(command: Command, orders: Queue):
    for arguments in ([], ["--stop", "--delay", "5"]):
        result = command("reschedule", "orders", "--key", "o-1", *arguments)
        assert (result.exit_code, "give exactly one of --due TIME" in result.stderr) == (1, True)
    soon = command("reschedule", "orders", "--key", "o-1", "--due", "soon")
    assert (soon.exit_code, "'soon' is not a time in ISO 8601" in soon.stderr) == (1, True)
    naive = command("reschedule", "orders", "--key", "o-1", "--due", "2030-03-01T12:00:00")
    assert (naive.exit_code, "no time zone" in naive.stderr) == (1, True)
