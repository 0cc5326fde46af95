"""Each line that a worker logs: its level, its text, and what programs read from it."""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from msgspec.structs import replace

import duerow
from duerow import Bury, Commit, Release, Rollback
from duerow.errors import LeaseLost, StoreUnavailable
from duerow.queue.limits import RunLimits
from duerow.settlement import DONE, Left
from duerow.worker import log as module
from duerow.worker.attempt import Attempt
from duerow.worker.in_flight import Ended
from duerow.worker.log import WorkerLog

NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)
AWAY = StoreUnavailable("it is\naway")


def attempts(*queues: str) -> list[Attempt]:
    """Return attempts at a message of each of these queues, which were claimed at noon."""
    with duerow.connect("memory://") as database:
        found = []
        for number, name in enumerate(queues):
            queue = database.queue(name)
            queue.push(number, key=f"k{number}", headers={"traceparent": f"00-trace{number}-span-01"})
            held = queue.reserve()
            assert held is not None
            found.append(replace_message(Attempt(held, 0.0, 0.0), last_attempt_at=NOON))
    return found


def replace_message(attempt: Attempt, **more: Any) -> Attempt:
    """Change the message of an attempt."""
    attempt.reservation = replace(attempt.reservation, message=replace(attempt.message, **more))
    return attempt


def logged(caplog: pytest.LogCaptureFixture, act: Callable[[WorkerLog], object]) -> list[logging.LogRecord]:
    """Return what a worker called Anna logs on the queue "mail"."""
    caplog.set_level(logging.DEBUG, "duerow.worker")
    caplog.clear()
    act(WorkerLog("mail", "anna"))
    for record in caplog.records:
        assert vars(record)["worker"] == "anna"
    return [*caplog.records]


OF_THE_WORKER: dict[str, tuple[Callable[[WorkerLog], object], str, str, dict[str, Any]]] = {
    "unavailable": (
        lambda log: log.unavailable("fetch from", AWAY, 1.25),
        "WARNING",
        "cannot fetch from mail: StoreUnavailable: it is away; trying again in 1.2 s",
        {},
    ),
    "available": (lambda log: log.available("fetch from"), "INFO", "can fetch from mail again", {}),
    "deaf": (
        lambda log: log.deaf(AWAY),
        "WARNING",
        "cannot listen for pushes to mail: StoreUnavailable: it is away; polling instead",
        {},
    ),
    "schedule-failed": (
        lambda log: log.not_ticking("nightly", AWAY),
        "ERROR",
        "schedule nightly cannot tick: StoreUnavailable: it is away; trying again from time to time",
        {"schedule": "nightly"},
    ),
    "not-counted": (
        lambda log: log.not_counted(AWAY),
        "WARNING",
        "the counts of mail for the last few seconds may be missing from the stats: StoreUnavailable: it is away",
        {},
    ),
    "permits": (lambda log: log.permitted(3), "INFO", "holds 3 permits of mail", {"permits": 3}),
    "limited": (
        lambda log: log.limited(RunLimits(concurrency=3)),
        "INFO",
        "limits set by operators on mail: {'concurrency': 3}",
        {},
    ),
    "stopping": (
        lambda log: log.stopping(1, 2),
        "INFO",
        "stopping on mail: 1 handlers are running, 2 messages are released",
        {"running": 1, "waiting": 2},
    ),
}
"""What is logged of the worker itself, by the name of the event: its level, its text, and further values."""


@pytest.mark.parametrize("event", OF_THE_WORKER)
def test_an_event_of_the_worker_has_a_line_with_its_name_and_its_queue(
    caplog: pytest.LogCaptureFixture, event: str
) -> None:
    act, level, text, more = OF_THE_WORKER[event]
    [record] = logged(caplog, act)
    assert (record.levelname, record.getMessage()) == (level, text)
    expected = {"event": event, "queue": "mail", **more}
    assert {name: vars(record)[name] for name in expected} == expected


def test_a_stop_with_nothing_in_hand_is_not_logged_and_the_end_of_all_limits_is(
    caplog: pytest.LogCaptureFixture,
) -> None:
    assert logged(caplog, lambda log: log.stopping(0, 0)) == []
    assert len(logged(caplog, lambda log: log.stopping(1, 0))) == len(logged(caplog, lambda log: log.stopping(0, 1)))
    [record] = logged(caplog, lambda log: log.limited(RunLimits()))
    assert record.getMessage() == "limits set by operators on mail: none"


OF_SEVERAL: dict[str, tuple[Callable[[WorkerLog, list[Attempt]], object], str, str]] = {
    "fetched": (lambda log, some: log.fetched(some), "INFO", "fetched {} of {}"),
    "isolated": (
        lambda log, some: log.apart(some),
        "INFO",
        "{} of {} were in progress when their worker died; each is handled alone, while nothing else runs",
    ),
    "done": (lambda log, some: log.settled([Ended(one, DONE) for one in some]), "DEBUG", "done {} of {}"),
    "given-back": (
        lambda log, some: log.settled([Ended(one, Release()) for one in some]),
        "INFO",
        "released {} of {}, not begun",
    ),
    "left": (
        lambda log, some: log.settled([Ended(one, Left()) for one in some]),
        "INFO",
        "left {} of {} as they are: they were removed or changed in the meantime",
    ),
    "unknown-outcome": (
        lambda log, some: log.unknown(some, AWAY),
        "WARNING",
        "cannot tell whether {} of {} were settled: StoreUnavailable: it is away; those that were not are due at the "
        "end of their lease",
    ),
    "given-up": (
        lambda log, some: log.given_up(some, AWAY),
        "WARNING",
        "stopped before {} of {} could be settled: StoreUnavailable: it is away; they are due again at the end of "
        "their lease",
    ),
}
"""What is logged of several messages, by the name of the event: its level and its text."""


@pytest.mark.parametrize("event", OF_SEVERAL)
def test_an_event_of_several_messages_has_a_line_for_each_queue_with_their_ids(
    caplog: pytest.LogCaptureFixture, event: str
) -> None:
    act, level, text = OF_SEVERAL[event]
    some = attempts("mail", "mail", "orders")
    records = logged(caplog, lambda log: act(log, some))
    assert [(one.levelname, one.getMessage()) for one in records] == [
        (level, text.format(2, "mail")),
        (level, text.format(1, "orders")),
    ]
    ids = [one.message.id for one in some]
    told = [{name: vars(one)[name] for name in ("event", "queue", "message_ids", "count")} for one in records]
    assert told == [
        {"event": event, "queue": "mail", "message_ids": ids[:2], "count": 2},
        {"event": event, "queue": "orders", "message_ids": ids[2:], "count": 1},
    ]


OF_ONE: dict[str, tuple[Callable[[WorkerLog, Attempt], object], str, str]] = {
    "lease-lost": (
        lambda log, one: log.lost(one),
        "WARNING",
        "lease lost on message {} of orders, attempt 1; its handler's result is dropped",
    ),
    "unsettled": (
        lambda log, one: log.unsettled(one, AWAY),
        "ERROR",
        "cannot settle message {} of orders, attempt 1: StoreUnavailable: it is away",
    ),
    "policy-failed": (
        lambda log, one: log.broken_policy(one, ValueError("no delay")),
        "ERROR",
        "the retry policy failed for message {} of orders, attempt 1: ValueError: no delay; using the default policy",
    ),
    "failed": (
        lambda log, one: log.settled([Ended(one, Rollback(timedelta(minutes=1), ValueError("no address")))]),
        "WARNING",
        "message {} of orders failed at attempt 1: ValueError: no address; retry at 2030-01-01 12:01:07 UTC",
    ),
    "buried": (
        lambda log, one: log.settled([Ended(one, Bury("no address"))]),
        "ERROR",
        "message {} of orders is buried after attempt 1: no address",
    ),
}
"""What is logged of one message, by the name of the event: its level and its text."""


@pytest.mark.parametrize("event", OF_ONE)
def test_an_event_of_one_message_has_a_line_that_names_it_its_key_and_its_trace(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch, event: str
) -> None:
    monkeypatch.setattr(module, "monotonic", lambda: 7.0)  # since the claim
    act, level, text = OF_ONE[event]
    [one] = attempts("orders")
    [record] = logged(caplog, lambda log: act(log, one))
    assert (record.levelname, record.getMessage()) == (level, text.format(one.message.id))
    told = vars(record)
    assert (told["event"], told["queue"], told["message_id"]) == (event, "orders", one.message.id)
    assert (told["attempt"], told["key"], told["trace_id"]) == (1, "k0", "trace0")


def test_a_failure_says_why_and_when_the_next_attempt_is_due_to_programs_too(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "monotonic", lambda: 0.0)
    failed, buried = attempts("mail", "mail")
    batch = [Ended(failed, Rollback(None, ValueError("no address"))), Ended(buried, Bury("gone"))]
    first, second = logged(caplog, lambda log: log.settled(batch))
    assert (vars(first)["cause"], vars(first)["retry_at"]) == ("ValueError: no address", NOON)
    assert vars(second)["cause"] == "gone"


def test_turns_that_end_in_different_ways_are_logged_apart(caplog: pytest.LogCaptureFixture) -> None:
    done, moved, back, left = attempts("mail", "mail", "mail", "mail")
    batch = [
        Ended(done, DONE),
        Ended(moved, Commit()),
        Ended(back, Release()),
        Ended(left, Left()),
    ]
    records = logged(caplog, lambda log: log.settled(batch))
    assert [(vars(one)["event"], vars(one)["count"]) for one in records] == [
        ("done", 2),
        ("given-back", 1),
        ("left", 1),
    ]


def test_a_message_without_a_trace_names_none(caplog: pytest.LogCaptureFixture) -> None:
    [one] = attempts("mail")
    replace_message(one, headers={"traceparent": "00-trace"})
    [record] = logged(caplog, lambda log: log.lost(one))
    assert "trace_id" not in vars(record)


def test_a_worker_of_an_encrypted_queue_logs_the_type_of_an_error_and_not_its_text(
    caplog: pytest.LogCaptureFixture,
) -> None:
    [one] = attempts("mail")
    WorkerLog("mail", "anna", quiet=True).unsettled(one, ValueError("4111 1111"))
    [record] = caplog.records
    assert "4111" not in record.getMessage()
    assert "ValueError" in record.getMessage()


def test_of_a_long_error_the_log_has_the_beginning_in_one_line(caplog: pytest.LogCaptureFixture) -> None:
    [record] = logged(caplog, lambda log: log.deaf(ValueError("a\n\tb " + "x" * 1000)))
    said = record.getMessage().removeprefix("cannot listen for pushes to mail: ").removesuffix("; polling instead")
    assert said.startswith("ValueError: a b x")
    assert len(said) == 500


def test_a_lost_lease_without_a_text_is_named_by_its_type(caplog: pytest.LogCaptureFixture) -> None:
    [record] = logged(caplog, lambda log: log.deaf(LeaseLost(1)))
    assert "LeaseLost" in record.getMessage()
