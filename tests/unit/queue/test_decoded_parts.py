"""Decoded parts of sets are kept within bounds, and what is returned does not depend on what is kept."""

from __future__ import annotations

import pytest

from duerow.errors import CodecError
from duerow.payload.encoding import PLAIN
from duerow.queue.decoded_parts import DecodedParts

PART = (
    '{"id":%d,"queue":"q","kind":"json","payload":{"v":%d},"created_at":"2026-01-01T00:00:00Z",'
    '"first_due_at":"2026-01-01T00:00:00Z","attempts":1}'
)


def parts(count: int) -> list[str]:
    return [PART % (number, number) for number in range(count)]


def test_a_part_that_changed_is_decoded_anew() -> None:
    decoded, place = DecodedParts(), ("s", "A")
    (before,) = decoded.messages(place, [PART % (1, 1)], PLAIN)
    (after,) = decoded.messages(place, [PART % (1, 2)], PLAIN)
    assert (before.payload, after.payload) == ({"v": 1}, {"v": 2})


def test_sets_that_nothing_joined_for_longest_are_forgotten_first() -> None:
    texts = parts(10)
    decoded = DecodedParts(most=2 * sum(map(len, texts)))
    first = {name: decoded.messages(("s", name), texts, PLAIN) for name in "AB"}
    assert decoded.messages(("s", "A"), texts, PLAIN)[0] is first["A"][0]
    decoded.messages(("s", "C"), texts, PLAIN)
    assert decoded.messages(("s", "A"), texts, PLAIN)[0] is first["A"][0]
    assert decoded.messages(("s", "B"), texts, PLAIN)[0] is not first["B"][0]


def test_a_set_larger_than_the_bound_is_returned_all_the_same() -> None:
    decoded = DecodedParts(most=10)
    assert [one.payload["v"] for one in decoded.messages(("s", "A"), parts(5), PLAIN)] == [0, 1, 2, 3, 4]
    assert not decoded._sets


def test_a_complete_set_is_forgotten() -> None:
    decoded = DecodedParts()
    decoded.messages(("s", "A"), parts(5), PLAIN)
    decoded.forget(("s", "A"))
    assert (decoded._size, len(decoded._sets)) == (0, 0)


def test_a_part_that_cannot_be_read_is_refused_each_time() -> None:
    decoded = DecodedParts()
    for _ in range(2):
        with pytest.raises(CodecError):
            decoded.messages(("s", "A"), [*parts(2), "{"], PLAIN)
