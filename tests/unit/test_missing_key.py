"""A worker that was not given a key harms nothing, and says which key it lacks."""

from __future__ import annotations

import logging
import sqlite3
from contextlib import closing
from datetime import timedelta

import pytest

import duerow
from duerow.encryption import Encryption, key_id
from duerow.testing.clock import MovableClock


def test_a_worker_without_a_key_hands_out_what_it_can_read_and_warns(caplog: pytest.LogCaptureFixture):
    key, clock = Encryption.new_key(), MovableClock()
    name = "memory://test_missing_key"
    with (
        duerow.connect(name, clock=clock, encryption=Encryption([key])) as knowing,
        duerow.connect(name, clock=clock) as bare,
    ):
        pushed = knowing.queue("cards").push({"number": "4111-1111"})
        bare.queue("cards").push("in clear text")
        seen = []
        with caplog.at_level(logging.WARNING, "duerow.queue"):
            duerow.Worker(bare.queue("cards"), lambda message: seen.append(message.payload)).run(until="idle")
        assert seen == ["in clear text"]
        [line] = [record.getMessage() for record in caplog.records if record.name == "duerow.queue"]
        assert line.startswith(f"message {pushed.id} of cards is postponed: ")
        assert key_id(key) in line
        assert "4111-1111" not in line

        clock.advance(timedelta(minutes=1))
        duerow.Worker(knowing.queue("cards"), lambda message: seen.append(message)).run(until="empty")
        assert (seen[1].payload, seen[1].attempts, seen[1].last_error) == ({"number": "4111-1111"}, 1, None)


def test_a_pop_within_a_transaction_of_the_callers_tells_which_key_is_missing(tmp_path: object):
    key = Encryption.new_key()
    url = f"sqlite:///{tmp_path}/queues.db"
    with duerow.connect(url, migrate=True, encryption=Encryption([key])) as knowing, duerow.connect(url) as bare:
        knowing.queue("cards").push("secret")
        with closing(sqlite3.connect(f"{tmp_path}/queues.db", isolation_level=None)) as connection:
            connection.execute("BEGIN IMMEDIATE")
            with pytest.raises(duerow.errors.KeyMissing, match=key_id(key)):
                bare.queue("cards").pop(within=connection)
            connection.execute("ROLLBACK")
        message = knowing.queue("cards").pop()
        assert message is not None
        assert message.payload == "secret"
