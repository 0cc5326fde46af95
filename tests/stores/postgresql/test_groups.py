"""The next message of a group has its turn, whichever transactions end those before it at the same moment."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import closing

import psycopg
import pytest

import duerow
from duerow.testing.conformance.fixtures import Place

WAITING = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%duerow_message%'"


@pytest.fixture
def mail(place: Place) -> Iterator[duerow.Queue]:
    with duerow.connect(place.url, **place.settings) as db:
        yield db.queue("mail")


@pytest.fixture
def operator(place: Place) -> Iterator[psycopg.Connection]:
    with closing(psycopg.connect(place.url)) as connection:
        yield connection


def test_a_group_goes_on_if_its_second_message_is_removed_while_its_first_is_settled(
    mail: duerow.Queue, operator: psycopg.Connection, superuser: psycopg.Connection
) -> None:
    _, second, third = mail.push_many([duerow.Draft(text, group="g") for text in ("first", "second", "third")])
    lent = mail.reserve()
    assert lent is not None
    mail.remove(id=second.id, within=operator)
    settling = threading.Thread(target=lent.commit)
    settling.start()
    while superuser.execute(WAITING).fetchone() != (1,):
        assert settling.is_alive()
    operator.commit()
    settling.join()
    following = mail.reserve()
    assert following is not None
    assert following.message.id == third.id
