"""Messages and drafts are checked before anything is done with them."""

from datetime import UTC, datetime, timedelta, timezone

import pytest

from duerow.errors import InvalidMessage
from duerow.message import (
    Draft,
    check_due,
    check_key,
    check_moment,
    check_on_duplicate,
    check_queue_name,
    check_span,
)

AT = datetime(2026, 3, 1, 12, tzinfo=UTC)


def test_a_draft_is_a_value_that_cannot_be_changed():
    draft = Draft({"a": 1}, key="m-1")
    assert draft == Draft({"a": 1}, key="m-1")
    with pytest.raises(AttributeError):
        draft.key = "m-2"


@pytest.mark.parametrize("name", ["a", "A-b_c.d:e/f9", "m" * 100])
def test_a_queue_may_be_called_so(name):
    assert check_queue_name(name) == name


@pytest.mark.parametrize("name", ["", "m" * 101, "a b", "a\n", "ä", None, 1, b"a"])
def test_a_queue_may_not_be_called_so(name):
    with pytest.raises(InvalidMessage, match="a queue cannot be called"):
        check_queue_name(name)


def test_an_endless_name_does_not_make_an_endless_error():
    with pytest.raises(InvalidMessage) as refused:
        check_queue_name("ä" * 1_000_000)
    assert len(str(refused.value)) < 400


def test_a_key_may_be_left_out():
    assert check_key(None) is None


@pytest.mark.parametrize("key", ["a", " ", "k" * 255, "€" * 170, "𝄞" * 128])
def test_a_key_has_up_to_255_characters_and_512_bytes(key):
    assert check_key(key) == key


@pytest.mark.parametrize("key", ["", "k" * 256, "€" * 171, "𝄞" * 129, "a\0", "\ud800", 1, b"a", ["a"]])
def test_what_is_no_key_is_refused(key):
    with pytest.raises(InvalidMessage, match="key"):
        check_key(key)


def test_a_moment_is_turned_into_utc():
    there = AT.astimezone(timezone(timedelta(hours=5, minutes=45)))
    assert check_moment("due", there) == AT
    assert check_moment("due", there).tzinfo is UTC
    assert check_moment("due", None) is None


@pytest.mark.parametrize(
    ("moment", "says"),
    [
        (datetime(2026, 1, 1), "has no time zone"),
        (AT.date(), "not date"),
        ("2026-01-01", "not str"),
        (0, "not int"),
        (datetime(1969, 12, 31, 23, 59, 59, tzinfo=UTC), "out of range"),
        (datetime(9999, 6, 1, tzinfo=UTC), "out of range"),
        (datetime.max.replace(tzinfo=timezone(timedelta(hours=-14))), "out of range"),
        (datetime.min.replace(tzinfo=timezone(timedelta(hours=14))), "out of range"),
    ],
)
def test_what_is_no_moment_is_refused(moment, says):
    with pytest.raises(InvalidMessage, match=says):
        check_moment("due", moment)


@pytest.mark.parametrize("span", [timedelta(0), timedelta(microseconds=1), timedelta(days=365_000)])
def test_a_span_is_kept(span):
    assert check_span("delay", span) == span


@pytest.mark.parametrize("span", [timedelta(microseconds=-1), timedelta.max, 1, 1.5, "1s", None])
def test_what_is_no_span_is_refused(span):
    with pytest.raises(InvalidMessage, match="delay"):
        check_span("delay", span)


def test_a_span_may_have_another_minimum():
    with pytest.raises(InvalidMessage, match="below 0:00:01"):
        check_span("lease", timedelta(0), timedelta(seconds=1))


def test_due_and_delay_exclude_each_other():
    assert check_due(AT, None) == (AT, None)
    assert check_due(None, timedelta(1)) == (None, timedelta(1))
    assert check_due(None, None) == (None, None)
    with pytest.raises(InvalidMessage, match="not both"):
        check_due(AT, timedelta(1))


@pytest.mark.parametrize("mode", ["ignore", "replace", "earliest", "reject"])
def test_the_four_modes_of_meeting_a_duplicate(mode):
    assert check_on_duplicate(mode) == mode


@pytest.mark.parametrize("mode", ["Ignore", "", None, 1, ["ignore"]])
def test_other_modes_are_refused(mode):
    with pytest.raises(InvalidMessage, match="'ignore', 'replace', 'earliest', 'reject'"):
        check_on_duplicate(mode)
