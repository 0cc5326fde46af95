"""Payloads that somebody wrote with plain SQL: no search and no count makes the database fail, whatever they hold."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import duerow
from duerow import Draft
from duerow.testing.conformance.fixtures import Place

Write = Callable[[str, int], None]
"""Puts a text where the payload of a message is, given its id, without duerow."""

NUMBERS = [
    *(
        "1e400",
        "-1e400",
        "1e-400",
        "1e200000",
        "-1e-200000",
        "1" * 5_000,
        "0." + "3" * 5_000,
        "1E+5",
        "12345678901234567890",
    ),
    *(
        "-0",
        "-0.0",
        "9223372036854775808",
        "-9223372036854775809",
        "1.7976931348623157e308",
        "4.9e-324",
        "1e00000000000001",
    ),
]
DOCUMENTS = [f'{{"a": {number}}}' for number in NUMBERS] + [
    '{"a": {"a": 1}, "a": 2}',
    "[" * 400 + "1" + "]" * 400,
    '{"a":' * 400 + "1" + "}" * 400,
    ' {"a" : "\\u0061\\/" } ',
    '{"a": "\\ud83d\\ude00"}',
    '{"\\u0061": 1}',
]
QUESTIONS = [
    *(
        "payload.a > 1",
        "payload.a < 1",
        "payload.a = 100000.0",
        "payload.a >= -1.5",
        "payload.a != 0",
        "payload.a in (1, 2.5)",
    ),
    *("payload.a = 'x'", "payload.a > ''", "payload.a like '%a%'", "payload.a = true", "payload.a is null"),
    *("not payload.a < 5", "payload.a.a = 1", 'payload."" = 1', 'payload."q""" > 1', "payload > 1", "payload is null"),
]


@pytest.mark.parametrize("question", QUESTIONS)
def test_no_payload_makes_a_search_fail(place: Place, write: Write, question: str) -> None:
    with duerow.connect(place.url, migrate=True, **place.settings) as database:
        queue = database.queue("mail")
        ids = [one.id for one in queue.push_many([Draft({"a": 1})] * len(DOCUMENTS))]
        for id, document in zip(ids, DOCUMENTS, strict=True):
            write(document, id)
        held = [message.id for asked in (question, f"not ({question})") for message in queue.find(asked)]
        assert sorted(held) == ids
        assert queue.count(question) + queue.count(f"not ({question})") == len(ids)


def test_no_payload_makes_a_count_by_its_values_fail(place: Place, write: Write) -> None:
    with duerow.connect(place.url, migrate=True, **place.settings) as database:
        queue = database.queue("mail")
        id = queue.push({"a": 1}).id
        for document in DOCUMENTS:
            write(document, id)
            assert sum(number for _, number in queue.count(by="payload.a").items()) == 1, document


def test_a_number_that_no_float_can_hold_compares_with_nothing(place: Place, write: Write) -> None:
    with duerow.connect(place.url, migrate=True, **place.settings) as database:
        queue = database.queue("mail")
        id = queue.push({"a": 1}).id
        for number, questions in (("1e400", ["payload.a > 5", "payload.a < 5"]), ("-1e400", ["payload.a < 0"])):
            write(f'{{"a": {number}}}', id)
            assert [queue.count(question) for question in questions] == [0] * len(questions)
            assert queue.count("payload.a is not null") == 1
        write('{"a": 1E+5}', id)
        assert queue.count("payload.a = 100000") == 1
        write('{"a": 12345678901234567890}', id)
        assert queue.count("payload.a > 12345678901234500000.0") == 1
