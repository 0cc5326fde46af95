"""Schedules from a terminal."""

from __future__ import annotations

from datetime import timedelta

import pytest

from duerow import Database
from tests.cli.conftest import Command, parsed


def test_a_schedule_is_added_listed_and_removed(command: Command, database: Database):
    added = parsed(
        command(
            "schedule",
            "add",
            "nightly",
            "reports",
            '{"kind": "sales"}',
            "--cron",
            "0 3 * * *",
            "--zone",
            "Asia/Tokyo",
            "--create",
            "--json",
        )
    )
    assert (added["name"], added["queue"], added["payload"]) == ("nightly", "reports", {"kind": "sales"})
    assert (added["cron"], added["zone"], added["missed"], added["last_at"]) == (
        "0 3 * * *",
        "Asia/Tokyo",
        "once",
        None,
    )
    assert parsed(command("schedule", "list", "--json")) == [added]
    listed = command("schedule", "list").stdout
    for shown in ("nightly", "reports", "0 3 * * *", "Asia/Tokyo", "18:00:00", "never", '{"kind":"sales"}'):
        assert shown in listed
    assert parsed(command("schedule", "remove", "nightly", "--json")) == {"removed": True}
    assert command("schedule", "list").stdout == "no schedules\n"
    assert database.schedules() == []


def test_intervals_and_times_of_the_day_are_added_with_all_their_terms(command: Command, database: Database):
    terms = ["--start", "2031-01-01T08:00+01:00", "--missed", "all", "--grace", "5"]
    assert command("schedule", "add", "poll", "imports", "--every", "600", "--create", *terms).stdout == (
        "poll ticks next at 2031-01-01 07:00:00 UTC\n"
    )
    command("schedule", "add", "meals", "kitchen", "--daily", "18:00", "--daily", "08:30", "--create")
    meals, poll = database.schedules()
    assert (poll.every, poll.missed, poll.grace, poll.payload) == (
        timedelta(minutes=10),
        "all",
        timedelta(seconds=5),
        None,
    )
    assert (meals.daily, meals.zone) == (("08:30", "18:00"), "UTC")
    listed = command("schedule", "list").stdout
    assert "every 0:10:00" in listed
    assert "08:30 18:00" in listed


def test_the_next_ticks_are_shown_in_utc_and_where_the_clock_is(command: Command, database: Database):
    start = ["--start", "2027-03-27T00:00+00:00", "--create"]
    command("schedule", "add", "spring", "reports", "--cron", "30 2 * * *", "--zone", "Europe/Zagreb", *start)
    assert parsed(command("schedule", "next", "spring", "--count", "2", "--json")) == [
        "2027-03-27T02:30:00+01:00",
        "2027-03-28T03:00:00+02:00",
    ]
    shown = command("schedule", "next", "spring").stdout
    assert "2027-03-28 01:00:00" in shown
    assert "Sun 2027-03-28 03:00:00 +0200" in shown


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["add", "s", "q"], "one of --cron, --every and --daily"),
        (["add", "s", "q", "--cron", "nightly"], "is not a cron expression"),
        (["add", "s", "q", "--cron", "0 3 * * *", "--every", "60"], "not cron and every"),
        (["add", "s", "q", "{", "--every", "60"], "the payload is not valid JSON"),
        (["add", "s", "q", "--every", "0.1"], "--every cannot be below"),
        (["add", "s", "q", "--every", "1e300"], "--every 1e+300"),
        (["add", "s", "q", "--every", "nan"], "--every nan"),
        (["add", "s", "q", "--every", "60", "--start", "tomorrow"], "'tomorrow' is not a time"),
        (
            ["add", "s", "q", "--every", "60", "--start", "2027-01-01T00:00"],
            "--start has no time zone: 2027-01-01T00:00:00; add one, as in 2027-01-01T00:00:00Z",
        ),
    ],
)
def test_what_cannot_be_done_with_a_schedule_is_told_in_a_line(
    command: Command, database: Database, arguments: list[str], said: str
):
    database.queue("q").declare()
    result = command("schedule", *arguments)
    assert result.exit_code == 1
    assert result.stderr.startswith("duerow: ")
    assert said in result.stderr
    assert "Traceback" not in result.stderr
    assert database.schedules() == []


def test_an_unknown_answer_to_missed_ticks_is_not_understood(command: Command):
    assert command("schedule", "add", "s", "q", "--every", "60", "--missed", "never").exit_code == 2


def test_a_schedule_that_is_not_there_has_exit_code_5_and_the_nearest_name(command: Command, database: Database):
    command("schedule", "add", "nightly", "reports", "--every", "60", "--create")
    for arguments in (["remove", "nigthly"], ["next", "nigthly"]):
        result = command("schedule", *arguments)
        assert (result.exit_code, result.stdout) == (5, "")
        assert result.stderr == "duerow: the database has no schedule 'nigthly'; did you mean 'nightly'?\n"


def test_a_schedule_for_a_queue_that_is_not_known_wants_to_be_told_that_it_is_meant(
    command: Command, database: Database
):
    result = command("schedule", "add", "nightly", "reports", "--every", "60")
    assert (result.exit_code, "no queue 'reports'; --create creates it" in result.stderr) == (5, True)
    assert database.schedules() == []


def test_a_schedule_is_paused_resumed_and_pushed(command: Command, database: Database):
    database.schedule("nightly", cron="0 3 * * *", queue="mail", payload="report")
    assert "nightly is paused" in command("schedule", "pause", "nightly").stdout
    assert "was already paused" in command("schedule", "pause", "nightly").stdout
    assert "paused" in command("schedule", "list").stdout
    assert "ticks next at" in command("schedule", "resume", "nightly").stdout
    assert "pushed message" in command("schedule", "push", "nightly").stdout
    assert [message.payload for message in database.queue("mail").find()] == ["report"]
