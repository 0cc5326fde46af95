"""What tests say of pushed messages: what is like what, and what a failure shows."""

from __future__ import annotations

from collections.abc import Iterator
from unittest.mock import ANY

import pytest

import duerow
from duerow import aio
from duerow.errors import ConfigurationError
from duerow.testing import assert_not_pushed, assert_pushed, like
from duerow.testing.clock import MovableClock, hours, minutes


@pytest.fixture
def mail() -> Iterator[duerow.Queue]:
    clock = MovableClock()
    with duerow.connect("memory://", clock=clock) as db:
        queue = db.queue("mail")
        queue.push({"to": "ana"}, key="m-1", headers={"trace": "t-1", "n": 1})
        queue.push({"to": "bo"}, delay=hours(2))
        yield queue


def test_a_message_is_like_what_names_some_of_what_it_has(mail: duerow.Queue):
    ana, bo = mail.find()
    for wanted in (
        like(),
        like({"to": "ana"}),
        like({"to": ANY}),
        like(key="m-1"),
        like(headers={"trace": "t-1"}),
        like(queue="mail", kind="json", status="new", attempts=0),
        like(delay=minutes(0)),
        like(due=ana.first_due_at),
    ):
        assert wanted == ana
        assert ana == wanted
    assert bo == like({"to": "bo"}, key=None, delay=hours(2))


def test_a_message_is_not_like_what_it_has_not(mail: duerow.Queue):
    ana, bo = mail.find()
    for unwanted in (
        like({"to": "bo"}),
        like(None),
        like(key=None),
        like(headers={"trace": "t-2"}),
        like(headers={"other": 1}),
        like(queue="billing"),
        like(delay=minutes(1)),
        like(due=bo.first_due_at),
        like(status="dead"),
    ):
        assert unwanted != ana
    assert like() != "no message"


def test_lists_of_messages_are_compared_in_order(mail: duerow.Queue):
    assert mail.find() == [like({"to": "ana"}), like({"to": "bo"})]
    assert mail.find() != [like({"to": "bo"}), like({"to": "ana"})]
    assert like({"to": "bo"}) in mail.find()


def test_what_was_pushed_is_returned(mail: duerow.Queue):
    assert assert_pushed(mail, like(key="m-1")).payload == {"to": "ana"}
    assert_pushed(mail, like(), times=2)
    assert_pushed(mail.find(), like({"to": "bo"}), times=1)
    assert_not_pushed(mail, like({"to": "eve"}))
    assert_not_pushed(mail.database.queue("billing"))


def test_a_failure_shows_what_was_wanted_and_all_that_is_there(mail: duerow.Queue):
    with pytest.raises(AssertionError) as failure:
        assert_pushed(mail, like({"to": "eve"}, key="m-1"))
    text = str(failure.value)
    assert text.startswith("expected at least 1 message like({'to': 'eve'}, key='m-1'), found 0 among 2:\n")
    assert "{'to': 'ana'}, key 'm-1', headers {'n': 1, 'trace': 't-1'}, new" in text
    with pytest.raises(AssertionError, match="expected 1 messages like\\(\\), found 2 among 2"):
        assert_pushed(mail, like(), times=1)
    with pytest.raises(AssertionError, match="expected no message like\\(\\{'to': 'bo'\\}\\), found 1 among 2"):
        assert_not_pushed(mail, like({"to": "bo"}))
    with pytest.raises(AssertionError, match="expected no message, found 2 among 2"):
        assert_not_pushed(mail)
    with pytest.raises(AssertionError, match="found 0 among no messages"):
        assert_pushed([], like())


def test_a_long_queue_is_read_whole_and_shown_in_part():
    with duerow.connect("memory://") as db:
        queue = db.queue("mail")
        queue.push_many([duerow.Draft(number) for number in range(250)])
        assert assert_pushed(queue, like(249)).payload == 249
        with pytest.raises(AssertionError, match="and 230 more"):
            assert_pushed(queue, like(250))


async def test_queues_of_the_awaited_face_are_read_with_await():
    async with await aio.connect("memory://") as db:
        queue = db.queue("mail")
        await queue.push(1)
        assert await queue.find() == [like(1)]
        assert_pushed(await queue.find(), like(1))
        with pytest.raises(ConfigurationError, match=r"await queue.find\(\)"):
            assert_pushed(queue, like(1))  # type: ignore[arg-type]
