"""The tables of a run: created under a separate prefix, read without duerow when the run is over, and dropped."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import duerow
from duerow.errors import ConfigurationError
from duerow.testing.torture.access import PREFIX
from duerow.testing.torture.environment import WORKED, Setting
from duerow.testing.torture.evidence import Row, Turn
from duerow.testing.torture.sides import Side
from duerow.testing.torture.upgrade import knowing


class OtherQueues(ConfigurationError):
    """The database has queues that do not belong to a run."""


def prefix_of(seed: int) -> str:
    """Return the prefix of the names of a run's tables."""
    return f"{PREFIX}{seed:x}_"


def check_is_free(setting: Setting) -> None:
    """Raise OtherQueues if the database has queues of other programs."""
    found = sorted(setting.access.prefixes())
    if found:
        raise OtherQueues(
            f"this database already has queues, in tables that begin with {', '.join(found)}; a run slows it down and "
            "may restart it: use another database, or say that it may be shared"
        )


def create(setting: Setting, first: int | None = None) -> None:
    """Create the tables of a run afresh, with this many migrations; None: with all."""
    setting.access.drop()
    with knowing(setting.url, first):
        duerow.connect(setting.url, migrate=True, **setting.all_settings).close()
    setting.access.create()


def create_by(side: Side, setting: Setting, told: Path) -> None:
    """Create the tables of a run afresh, as another version creates them.

    Raises:
        ConfigurationError: that version failed to create them.
    """
    setting.access.drop()
    process = side.start_migrator(setting, None, 0.0, told)
    process.join()
    if process.exitcode:
        raise ConfigurationError(f"{side.name} could not make its tables")
    setting.access.create()


class Reader:
    """Reads the tables of a run.

    Args:
        setting: the settings for the database.
    """

    def __init__(self, setting: Setting) -> None:
        self._setting = setting

    def begun(self) -> Mapping[int, int]:
        """Return how many turns each process began: a run with few turns proves little."""
        return self._setting.access.begun()

    def made(self) -> list[tuple[int, str]]:
        """Return the number and name of each recorded migration."""
        return [(number, _word(name)) for number, name in self._setting.access.made()]

    def left(self) -> int:
        """Return how many messages have yet to be handled."""
        return self._setting.access.waiting(WORKED)

    def last_tick(self) -> datetime | None:
        """Return the last tick of the schedule that became a message; None if there was none."""
        with self._setting.open() as database:
            return database.schedules()[0].last_at

    def rows(self) -> list[Row]:
        """Return all messages."""
        found = self._setting.access.messages()
        rows = []
        with self._setting.open() as database:
            for id, queue, status, payload, headers, group, leased_by in found:
                why = ""
                if queue in WORKED and status != "dead":
                    why = "; ".join(reason.text for reason in database.queue(queue).why(id))
                rows.append(Row(id, _word(queue), status, _json(payload), _json(headers), _word(group), leased_by, why))
        return rows

    def turns(self) -> list[Turn]:
        """Return all turns in the history."""
        return [
            Turn(id, token, _word(queue), outcome, attempts, worker, str(at))
            for id, token, queue, outcome, attempts, worker, at in self._setting.access.turns()
        ]


def _word(value: Any) -> Any:
    return value.decode() if isinstance(value, bytes) else value


def _json(value: Any) -> Any:
    if value is None:
        return {}
    return json.loads(value) if isinstance(value, str | bytes) else value
