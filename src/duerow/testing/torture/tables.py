"""The tables of a run: created under a separate prefix, read without duerow when the run is over, and dropped."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from threading import Thread
from typing import Any, Final

import duerow
from duerow.errors import ConfigurationError, StoreUnavailable
from duerow.testing.torture.access import PREFIX
from duerow.testing.torture.environment import WORKED, Setting
from duerow.testing.torture.evidence import Item, Row, Turn
from duerow.testing.torture.pipelines import STATIONS
from duerow.testing.torture.producer import Producer
from duerow.testing.torture.sides import Side
from duerow.testing.torture.upgrade import knowing

WRITABLE: Final = 5
"""The earliest version of the tables with which this version of duerow can push and reserve, history included."""

LEFT: Final = 40
"""The least number of messages that tables of an earlier version have before they are upgraded."""

DROPPING: Final = 30.0
"""Seconds within which the tables of a run must be dropped."""


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
    """Create the tables of a run afresh.

    Args:
        setting: the settings for the database.
        first: the version of the tables, in which messages are then left for the upgrade to keep; None: the current
            version, without messages.
    """
    drop(setting)
    _migrate(setting, first)
    setting.access.create()
    if first is not None:
        able = max(first, WRITABLE)
        with setting.access.at_version(first):
            _migrate(setting, able)
            with knowing(setting.url, able), setting.open() as database:
                Producer(setting, database).leave(LEFT)


def _migrate(setting: Setting, version: int | None) -> None:
    with knowing(setting.url, version):
        duerow.connect(setting.url, migrate=True, **setting.all_settings).close()


def create_by(side: Side, setting: Setting, told: Path) -> None:
    """Create the tables of a run afresh, as another version creates them.

    Raises:
        ConfigurationError: that version failed to create them.
    """
    drop(setting)
    process = side.start_migrator(setting, None, 0.0, told)
    process.join()
    if process.exitcode:
        raise ConfigurationError(f"{side.name} could not make its tables")
    setting.access.create()


def drop(setting: Setting) -> None:
    """Drop the tables of a run.

    While the transaction of a killed process is still open, the server may wait for it, and not all drivers have a
    limit for that. So another thread drops the tables, and is left alone if it takes too long.

    Raises:
        StoreUnavailable: the tables could not be dropped in time.
    """
    errors: list[Exception] = []

    def work() -> None:
        try:
            setting.access.drop()
        except Exception as error:
            errors.append(error)

    thread = Thread(target=work, name="duerow-torture-drop", daemon=True)
    thread.start()
    thread.join(DROPPING)
    if thread.is_alive():
        raise StoreUnavailable(f"the server did not drop the tables within {DROPPING:.0f} s", "unknown")
    if errors:
        raise errors[0]


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
        """Return how many messages and rows have yet to be handled."""
        access = self._setting.access
        return access.waiting((*WORKED, *STATIONS)) + access.waiting_items()

    def items(self) -> list[Item] | None:
        """Return all rows of the application's own table; None: the database does not support such queues."""
        access = self._setting.access
        if not access.has_items:
            return None
        return [
            Item(record, handled, _word(status), due_at is not None, _word(leased_by), attempts, token)
            for record, handled, status, due_at, leased_by, attempts, token in access.items()
        ]

    def last_tick(self) -> datetime | None:
        """Return the last tick of the schedule that became a message; None if there was none."""
        with self._setting.open() as database:
            schedules = database.schedules()
            return schedules[0].last_at if schedules else None  # every program may have been killed before declaring it

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
