"""An ended session, a server that only reads or has no space: an outage, and the connection is discarded."""

from __future__ import annotations

import time

import psycopg
import pytest

import duerow
from duerow.errors import StoreUnavailable
from duerow.stores.sql.connections.engines import RESTED
from duerow.stores.sql.dialects.postgresql.dialect import PostgreSQL
from duerow.testing.conformance.fixtures import Place

IDLE_SESSION, IDLE_IN_TRANSACTION, DROPPED, READ_ONLY = "57P05", "25P03", "57P04", "25006"
FULL_DISK = "53100"


@pytest.mark.parametrize("state", [IDLE_SESSION, IDLE_IN_TRANSACTION, DROPPED, READ_ONLY, FULL_DISK])
def test_it_is_worth_trying_again(state: str) -> None:
    error = psycopg.errors.lookup(state)("as the server says")
    assert isinstance(PostgreSQL().explain(error), StoreUnavailable)


def test_a_standby_takes_no_push_but_may_become_the_primary(place: Place) -> None:
    standby = f"{place.url}{'&' if '?' in place.url else '?'}options=-c%20default_transaction_read_only%3Don"
    with duerow.connect(standby, **place.settings) as db, pytest.raises(StoreUnavailable, match="25006"):
        db.queue("mail").push(1)


def named(place: Place) -> str:
    """The URL of sessions that `end` ends."""
    return f"{place.url}{'&' if '?' in place.url else '?'}application_name=to_be_ended"


def end(superuser: psycopg.Connection) -> None:
    """Wait until the session is gone."""
    ending = "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE application_name = 'to_be_ended'"
    assert superuser.execute(ending).fetchall() == [(True,)]


def test_a_session_that_was_ended_is_not_used_again(place: Place, superuser: psycopg.Connection) -> None:
    with duerow.connect(named(place), **place.settings) as db:
        queue = db.queue("mail")
        queue.push(1)
        end(superuser)
        with pytest.raises(StoreUnavailable) as broken:
            queue.push(2)
        assert broken.value.outcome == "unknown"
        queue.push(3)
        assert [message.payload for message in queue.find()] == [1, 3]


def test_a_session_that_ended_while_it_rested_is_replaced_before_it_is_used(
    place: Place, superuser: psycopg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    with duerow.connect(named(place), **place.settings) as db:
        queue = db.queue("mail")
        queue.push(1)
        end(superuser)
        now = time.monotonic
        monkeypatch.setattr(time, "monotonic", lambda: now() + 2 * RESTED)
        queue.push(2)
        assert [message.payload for message in queue.find()] == [1, 2]
