"""Payloads come back equal, with the same types."""

from __future__ import annotations

from collections import OrderedDict
from datetime import datetime
from decimal import Decimal
from enum import IntEnum
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from duerow import Database, Draft, Queue
from duerow.errors import CodecError
from duerow.payload.codec import MAX_PAYLOAD_BYTES
from duerow.testing.contents import everything, stored

TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=12)
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(1 << 63), (1 << 63) - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXT
)
JSON = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4))

EDGES: list[Any] = [
    None, True, False, 0, -1, (1 << 63) - 1, -(1 << 63), 1 << 53, (1 << 53) + 1,
    0.0, -0.0, 1.0, -1.5, 1e23, 1e22, 5e-324, 2.2250738585072014e-308, 1.7976931348623157e308, 0.1, 1e16,
    "", " ", "null", "\\u0000", "\\", '"', "'", "%s", "{}", ":name", "?", "\u2028\u2029", "\x7f\x80", "\t\n\r\b\f\x1b",
    "𝄞", "é", "e\u0301", "\uffff", [], {}, [[]], [{}], {"": ""}, {"a": {"b": [1, 1.0, True, None]}},
    {"é": 1, "e\u0301": 2}, {"a b": 1, "a.b": 2, "$a": 3, "_id": 4}, b"", b"\0", b"\x00\xff\xfe", bytes(range(256)),
    b"null",
]  # fmt: skip


def shape(value: Any) -> Any:
    """Return what two values must share to be equal with the same types throughout, whatever the order of keys."""
    if isinstance(value, dict):
        return {name: shape(member) for name, member in value.items()}
    if isinstance(value, list):
        return [shape(member) for member in value]
    return type(value), repr(value)


def nested(depth: int) -> Any:
    """Return lists or objects nested to this depth."""
    value: Any = 1
    for level in range(depth):
        value = [value] if level % 2 else {"in": value}
    return value


def test_payloads_at_the_edges_come_back_the_same(queue: Queue) -> None:
    answers = queue.push_many([Draft(payload) for payload in EDGES])
    assert [shape(stored(queue, one.id).payload) for one in answers] == [shape(payload) for payload in EDGES]


def test_every_way_of_reading_gives_the_same_payload(queue: Queue) -> None:
    payload = {"n": 1.0, "big": (1 << 63) - 1, "text": "ž\\u0000", "list": [None, -0.0]}
    pushed = queue.push(payload)
    reservation = queue.reserve()
    assert reservation is not None
    queue.release(reservation)
    ways = [stored(queue, pushed.id), queue.find()[0], queue.peek()[0], reservation.message, queue.pop()]
    assert [shape(message and message.payload) for message in ways] == [shape(payload)] * 5


@settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
@given(batch=st.lists(JSON | st.binary(max_size=30), min_size=1, max_size=5))
def test_any_payload_comes_back_equal_and_of_the_same_types(queue: Queue, batch: list[Any]) -> None:
    queue.push_many([Draft(payload) for payload in batch])
    assert [shape(message.payload) for message in queue.pop_many(10)] == [shape(payload) for payload in batch]


def test_a_payload_may_be_nested_64_deep_and_not_65(db: Database, queue: Queue) -> None:
    assert stored(queue, queue.push(nested(64)).id).payload == nested(64)
    before = everything(db)
    with pytest.raises(CodecError, match="more than 64 deep"):
        queue.push(nested(65))
    assert everything(db) == before


def test_a_payload_may_have_a_mebibyte_when_encoded_and_no_more(db: Database, queue: Queue) -> None:
    largest = "x" * (MAX_PAYLOAD_BYTES - 2)
    assert stored(queue, queue.push(largest).id).payload == largest
    before = everything(db)
    with pytest.raises(CodecError, match="1,048,577 bytes"):
        queue.push(largest + "x")
    assert everything(db) == before


def test_a_queue_may_say_how_large_its_payloads_are(db: Database) -> None:
    small = db.queue("small", max_payload_bytes=10)
    small.push("12345678")
    with pytest.raises(CodecError, match="at most 10"):
        small.push("123456789")
    large = db.queue("large", max_payload_bytes=4 << 20)
    large.push("x" * (2 << 20))
    assert (small.count(), large.count()) == (1, 1)


class Colour(IntEnum):
    """Equal to an integer, but not an integer."""

    RED = 1


UNFIT: list[tuple[Any, str]] = [
    (float("nan"), "nan"),
    (float("inf"), "inf"),
    ([1, {"a": float("-inf")}], r"payload\[1\]\['a'\]"),
    (1 << 63, "beyond 64 bits"),
    (-(1 << 63) - 1, "beyond 64 bits"),
    ("a\0b", r"U\+0000"),
    ({"a": ["b", "\0"]}, r"payload\['a'\]\[1\] contains U\+0000"),
    ({"a\0": 1}, r"U\+0000"),
    ("\ud800", "surrogate"),
    ({"\udfff": 1}, "surrogate"),
    ((1, 2), "tuple"),
    ({1, 2}, "set"),
    ({1: "a"}, "JSON keys must be text"),
    ({None: "a"}, "JSON keys must be text"),
    ([b"bytes within"], "bytes"),
    (Decimal("1.0"), "Decimal"),
    (datetime(2026, 1, 1), "datetime"),
    (Colour.RED, "Colour"),
    (OrderedDict(a=1), "OrderedDict"),
    (object(), "object"),
    (len, "builtin"),
]


def test_what_json_would_not_give_back_is_refused_and_nothing_is_pushed(db: Database, queue: Queue) -> None:
    for payload, says in UNFIT:
        with pytest.raises(CodecError, match=says):
            queue.push(payload)
        with pytest.raises(CodecError, match=says):
            queue.push_many([Draft("good"), Draft(payload)])
    assert everything(db) == []
