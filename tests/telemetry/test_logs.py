"""Log lines are objects with the ids of what they speak of."""

from __future__ import annotations

import asyncio
import json
import logging
import uuid
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

import duerow
import duerow.aio
from duerow.errors import ConfigurationError
from duerow.telemetry.attempt_log import keep_attempt_logs
from duerow.telemetry.log import JsonFormatter
from tests.telemetry.conftest import Spans


def line(record: logging.LogRecord) -> dict[str, Any]:
    text = JsonFormatter().format(record)
    assert text.isprintable()
    told: dict[str, Any] = json.loads(text)
    return told


def test_each_event_of_a_worker_has_its_name_and_its_ids(database: duerow.Database, caplog: pytest.LogCaptureFixture):
    caplog.set_level(logging.DEBUG, "duerow.worker")
    mail = database.queue("mail")
    ids = [mail.push(number).id for number in range(3)]
    outcomes: list[Any] = [None, ValueError("no"), duerow.Bury("no")]
    duerow.Worker(mail, lambda message: outcomes.pop(0), name="w1").run("idle")
    lines = [line(record) for record in caplog.records if record.name == "duerow.worker"]
    by_event = {one["event"]: one for one in lines}
    assert {"fetched", "done", "failed", "buried"} <= by_event.keys()
    assert [by_event[event].get("message_id") for event in ("failed", "buried")] == ids[1:]
    assert by_event["done"]["message_ids"] == ids[:1]
    assert {(one["queue"], one["worker"]) for one in lines} == {("mail", "w1")}
    assert datetime.fromisoformat(by_event["failed"]["retry_at"]) > datetime.now(UTC)


def test_lines_about_a_message_have_the_id_of_its_trace(
    database: duerow.Database, spans: Spans, caplog: pytest.LogCaptureFixture
):
    mail = database.queue("mail")
    mail.push("hello")

    def handle(message: duerow.Message) -> None:
        logging.getLogger("shop").warning("handling")
        handled.append(line(caplog.records[-1]))
        raise ValueError("no")

    handled: list[dict[str, Any]] = []
    duerow.Worker(mail, handle, retry=duerow.limited(1, duerow.exponential())).run("idle")
    process = spans.one("process mail").context
    assert handled[0]["trace_id"] == f"{process.trace_id:032x}"
    assert handled[0]["span_id"] == f"{process.span_id:016x}"
    (buried,) = [line(one) for one in caplog.records if getattr(one, "event", "") == "buried"]
    assert buried["trace_id"] == f"{process.trace_id:032x}"


def test_a_line_holds_what_cannot_be_json_as_text_and_steers_no_terminal():
    record = logging.makeLogRecord(
        {"name": "shop", "msg": "one\ntwo\x1b[31m\u2028", "levelname": "INFO", "odd": object}
    )
    told = line(record)
    assert told["message"] == "one\ntwo\x1b[31m\u2028"
    assert told["odd"] == str(object)


def test_a_traceback_is_in_its_line():
    try:
        raise ValueError("no")
    except ValueError as error:
        told = line(logging.makeLogRecord({"exc_info": (type(error), error, error.__traceback__)}))
    assert told["traceback"].endswith("ValueError: no")


def test_the_last_log_lines_of_a_failed_attempt_stand_below_its_traceback_in_history() -> None:
    with duerow.connect("memory://", migrate=True) as database:
        mail = database.queue("mail", history=timedelta(days=1), retry=duerow.limited(2, duerow.fixed(timedelta(0))))

        def handle(message: duerow.Message) -> None:
            for number in range(3):
                logging.getLogger("shop").warning("%s: step %d", message.payload, number)
            logging.getLogger("shop").info("not kept")
            if message.payload == "fails":
                raise ValueError("no")

        end = keep_attempt_logs(lines=2, level=logging.WARNING)
        try:
            mail.push_many([duerow.Draft("works"), duerow.Draft("fails")])
            duerow.Worker(mail, handle).run("idle")
        finally:
            end()
        kept = [turn.error.traceback for turn in mail.history(limit=2) if turn.error is not None]
        assert len(kept) == 2
        for text in kept:
            assert text is not None
            assert text.endswith("log of this attempt:\nWARNING shop: fails: step 1\nWARNING shop: fails: step 2\n")


def test_the_logs_of_attempts_that_succeed_are_kept_in_history_if_asked_for() -> None:
    with duerow.connect("memory://", migrate=True) as database:
        mail = database.queue("mail", history=timedelta(days=1), retry=duerow.limited(1, duerow.fixed(timedelta(0))))

        def handle(message: duerow.Message) -> object:
            if message.payload != "silent":
                logging.getLogger("shop").warning("works on %s", message.payload)
            if message.payload == "fails":
                raise ValueError("no")
            return duerow.Move("sms") if message.payload == "goes on" else None

        end = keep_attempt_logs(of="all")
        try:
            mail.push_many([duerow.Draft(each) for each in ("works", "goes on", "silent", "fails")])
            duerow.Worker(mail, handle).run("idle")
        finally:
            end()
        turns = {turn.payload: turn for turn in mail.history()}
        logs = {payload: turn.log for payload, turn in turns.items()}
        assert logs == {
            "works": "WARNING shop: works on works",
            "goes on": "WARNING shop: works on goes on",
            "silent": None,
            "fails": None,
        }
        assert turns["works"].error is None
        assert turns["fails"].error is not None
        assert "WARNING shop: works on fails" in str(turns["fails"].error.traceback)


async def test_the_log_of_a_batch_is_kept_with_each_of_its_messages() -> None:
    async with await duerow.aio.connect(f"memory://{uuid.uuid4()}", migrate=True) as database:
        mail = database.queue("mail", history=timedelta(days=1))
        await mail.push_many([duerow.Draft(1), duerow.Draft(2)])

        async def handle(messages: list[duerow.Message]) -> None:
            logging.getLogger("shop").warning("a batch of %d", len(messages))

        end = keep_attempt_logs(of="all")
        try:
            await duerow.aio.Worker(mail, handle, batch=2, whole_batch=True).run("idle")
        finally:
            end()
        assert [turn.log for turn in await mail.history()] == ["WARNING shop: a batch of 2"] * 2


async def test_attempts_that_run_at_once_as_tasks_keep_their_own_lines() -> None:
    async with await duerow.aio.connect(f"memory://{uuid.uuid4()}", migrate=True) as database:
        mail, both = database.queue("mail", retry=duerow.limited(1, duerow.exponential())), asyncio.Barrier(2)
        await mail.push_many([duerow.Draft(number) for number in range(2)])

        async def handle(message: duerow.Message) -> None:
            logging.getLogger("shop").warning("first of %d", message.payload)
            await both.wait()
            logging.getLogger("shop").warning("second of %d", message.payload)
            raise ValueError("no")

        end = keep_attempt_logs()
        try:
            await duerow.aio.Worker(mail, handle, concurrency=2).run("idle")
        finally:
            end()
        for message in await mail.find(status="dead"):
            assert message.last_error is not None
            text = str(message.last_error.traceback)
            assert f"first of {message.payload}\nWARNING shop: second of {message.payload}\n" in text
            assert f"of {1 - message.payload}" not in text


def test_how_many_lines_are_kept_is_checked() -> None:
    with pytest.raises(ConfigurationError, match="number of log lines"):
        keep_attempt_logs(lines=0)
    with pytest.raises(ConfigurationError, match="'failed' or 'all'"):
        keep_attempt_logs(of="none")  # type: ignore[arg-type]
