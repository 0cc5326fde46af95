"""Payloads that somebody wrote with plain SQL: MySQL refuses what it could not look into, so no search fails."""

import pymysql
import pytest

import duerow
from duerow.testing.conformance.fixtures import Place
from tests.stores.foreign_payloads import DOCUMENTS, QUESTIONS
from tests.stores.mariadb.test_foreign_payloads import Write, write

__all__ = ["write"]

DEEPEST = 100
"""How many levels of JSON the server reads."""

TOO_DEEP = (3157, 3819)
"""What the server says of JSON that is nested deeper than 100 levels, or of the check that meets it."""


def test_no_payload_makes_a_search_fail(place: Place, write: Write) -> None:
    too_deep = 0
    with duerow.connect(place.url, **place.settings) as database:
        queue = database.queue("mail")
        id = queue.push({"a": 1}).id
        for document in DOCUMENTS:
            if max(document.count("["), document.count("{")) > DEEPEST:
                too_deep += 1
                with pytest.raises(pymysql.err.OperationalError) as refused:
                    write(document, id)
                assert refused.value.args[0] in TOO_DEEP
                continue
            write(document, id)
            for question in QUESTIONS:
                held = len(queue.find(question)) + len(queue.find(f"not ({question})"))
                assert held == 1, (document[:20], question)
            queue.count(by="payload.a")
    assert too_deep == 2


def test_what_has_a_number_that_no_float_can_hold_has_no_members(place: Place, write: Write) -> None:
    with duerow.connect(place.url, **place.settings) as database:
        queue = database.queue("mail")
        id = queue.push({"a": 1}).id
        write('{"a": 1e400, "b": 1}', id)
        assert [queue.count(question) for question in ("payload.a > 5", "payload.a < 5", "payload.b = 1")] == [0] * 3
        write("no JSON", id)
        assert queue.count("payload.a is null") == 1
        write('{"a": 12345678901234567890}', id)
        assert queue.count("payload.a > 12345678901234500000.0") == 1
