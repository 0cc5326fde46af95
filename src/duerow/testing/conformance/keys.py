"""Keys are compared byte for byte, on every database."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from duerow import Database, Draft, Queue
from duerow.errors import InvalidMessage
from duerow.message import ON_DUPLICATE
from duerow.testing.contents import everything, stored

ALIKE = [
    "key",
    "Key",
    "KEY",
    "key ",
    "key  ",
    " key",
    "kéy",
    "ke\u0301y",
    "\u03baey",
    "key\t",
    "key\n",
    "\uff4bey",
    "1",
    "01",
    "1.0",
]

KEYS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=20)


def test_keys_that_look_alike_are_different_keys(queue: Queue) -> None:
    answers = queue.push_many([Draft(key, key=key) for key in ALIKE])
    assert [answer.outcome for answer in answers] == ["created"] * len(ALIKE)
    assert [stored(queue, answer.id).key for answer in answers] == ALIKE
    assert all(queue.contains(key) for key in ALIKE)


def test_looking_for_a_key_finds_no_other_that_looks_alike(queue: Queue) -> None:
    queue.push("hello", key="key")
    assert [key for key in ALIKE if queue.contains(key)] == ["key"]
    assert [key for key in ALIKE[1:] if queue.remove(key=key)] == []


ODD = ["k" * 255, "é" * 255, "€" * 170 + "kk", "𝄞" * 128, " ", "%", "_", "'; drop table duerow_message; --", "\\", "?"]

UNFIT: list[tuple[Any, str]] = [
    ("", "1 to 255 characters"),
    ("k" * 256, "this one has 256"),
    ("€" * 171, "at most 512 bytes"),
    ("a\0b", r"none of them U\+0000"),
    ("\ud800", "lone surrogate"),
    (7, "a key must be text, not int"),
    (b"key", "a key must be text, not bytes"),
]


def test_keys_up_to_255_characters_and_512_bytes_are_kept(queue: Queue) -> None:
    for key in ODD:
        pushed = queue.push("hello", key=key)
        assert stored(queue, pushed.id).key == key
        assert queue.push("again", key=key).id == pushed.id
        assert queue.contains(key)
    assert queue.count() == len(ODD)


def test_what_cannot_be_a_key_is_refused_and_nothing_is_pushed(db: Database, queue: Queue) -> None:
    for key, says in UNFIT:
        for mode in ON_DUPLICATE:
            with pytest.raises(InvalidMessage, match=says):
                queue.push("hello", key=key, on_duplicate=mode)
        with pytest.raises(InvalidMessage, match=says):
            queue.contains(key)
    assert everything(db) == []


@settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
@given(one=KEYS, another=KEYS)
def test_two_keys_are_one_only_when_they_are_equal(queue: Queue, one: str, another: str) -> None:
    first, second = queue.push_many([Draft(1, key=one), Draft(2, key=another)])
    assert (first.id == second.id) == (one == another)
    for id in {first.id, second.id}:
        assert queue.remove(id)
