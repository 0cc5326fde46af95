"""A push in a transaction of the caller's meets keys of messages that left since it began, in every isolation."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta

import psycopg
import pytest

import duerow
from duerow.errors import Conflict
from duerow.testing.conformance.fixtures import Place

DAY = timedelta(days=1)


@pytest.fixture
def mail(place: Place) -> Iterator[duerow.Queue]:
    with duerow.connect(place.url, **place.settings) as db:
        yield db.queue("mail", remember_keys=DAY)


@pytest.fixture
def connection(place: Place) -> Iterator[psycopg.Connection]:
    with closing(psycopg.connect(place.url)) as connection:
        yield connection


@pytest.mark.parametrize("level", psycopg.IsolationLevel, ids=lambda level: level.name)
def test_a_message_that_left_since_the_transaction_began_is_not_pushed_again(
    mail: duerow.Queue, connection: psycopg.Connection, level: psycopg.IsolationLevel
) -> None:
    first = mail.push("first", key="k")
    lent = mail.reserve()
    assert lent is not None
    connection.isolation_level = level
    connection.execute("SELECT 1 FROM pg_class")  # from here on it sees what was there, if it always sees the same
    mail.commit(lent)
    if level >= psycopg.IsolationLevel.REPEATABLE_READ:
        with pytest.raises(Conflict):
            mail.push("again", key="k", within=connection)
        connection.rollback()
    else:
        pushed = mail.push("again", key="k", within=connection)
        assert (pushed.id, pushed.outcome) == (first.id, "ignored")
        connection.commit()
    assert mail.count() == 0


@pytest.mark.parametrize("ends", ["commit", "rollback"])
def test_a_push_waits_for_who_is_just_settling_the_message_with_its_key(
    mail: duerow.Queue, connection: psycopg.Connection, superuser: psycopg.Connection, ends: str
) -> None:
    first = mail.push("first", key="k")
    lent = mail.reserve()
    assert lent is not None
    mail.commit(lent, within=connection)
    answers: list[duerow.Pushed] = []
    pusher = threading.Thread(target=lambda: answers.append(mail.push("again", key="k")))
    pusher.start()
    waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%duerow_message%'"
    while superuser.execute(waiting).fetchone() != (1,):
        assert pusher.is_alive()
    getattr(connection, ends)()
    pusher.join()
    assert [(one.id, one.outcome) for one in answers] == [(first.id, "ignored")]
    assert mail.count() == (0 if ends == "commit" else 1)
