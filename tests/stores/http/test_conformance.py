"""A database behind an HTTP API keeps every promise that can be kept from there."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Set

import pytest

import duerow
from duerow import Database
from duerow.clock import Clock
from duerow.errors import ConfigurationError
from duerow.store import Entry
from duerow.testing.clock import MovableClock
from duerow.testing.conformance import damaged_rows, event_loop, promises, undecodable
from duerow.testing.conformance.fixtures import Place
from duerow.testing.state_machine import drive

globals().update(promises())


@pytest.fixture(autouse=True)
def beside_the_server(memory_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Messages that nobody can read come from a producer at the database: the API accepts none."""

    def push_unreadable(db: Database, entry: Entry) -> int:
        with duerow.connect(memory_url, clock=_clock_of(db)) as near:
            [pushed] = near.run(lambda: near.store.messages.push([entry], "ignore"))
        return pushed.id

    for module in (undecodable, damaged_rows):
        monkeypatch.setattr(module, "push_unreadable", push_unreadable)


def _clock_of(db: Database) -> Clock | None:
    return db._clock


def test_the_first_connection_of_a_process_keeps_no_event_loop_waiting(place: Place, in_loop: Set[str]) -> None:
    """As for every store; without a prefix, which is the server's."""
    command = [sys.executable, "-c", event_loop.FIRST, json.dumps([place.url, place.settings])]
    told = subprocess.run(command, capture_output=True, check=True).stdout
    longest, waits, modules = json.loads(told)
    assert longest <= event_loop.LONGEST
    assert (waits.keys() - in_loop, modules) == (set(), [])


@pytest.mark.parametrize("setting", ["prefix", "schema", "read_timeout"])
def test_what_only_the_server_can_set_is_refused(place: Place, setting: str) -> None:
    value = {"prefix": "other_", "schema": "other", "read_timeout": None}[setting]
    with pytest.raises(ConfigurationError, match=f"server.*{setting}=|{setting}=.*server"):
        duerow.connect(place.url, **{setting: value})  # type: ignore[arg-type]


@pytest.mark.soak
@pytest.mark.timeout(1800)
def test_a_store_does_what_the_reference_does(db: Database, clock: MovableClock) -> None:
    """Take a third of the runs that other stores take."""
    drive(db, clock, runs=3)
