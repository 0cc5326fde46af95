"""The driver's side of a source: it looks for new files, or resumes a table; tasks do the reading.

Each file is a message with the file's name as its key, which the queue remembers. So a file is read once, no matter how
often it is found. A table has one position. While there is nothing more to read, the position waits in a separate queue
for the next run.
"""

from __future__ import annotations

import time
from dataclasses import fields
from hashlib import sha256
from typing import Any, Final

import msgspec

from duerow.errors import ConfigurationError
from duerow.message import LIVE, Draft, Status
from duerow.pipeline.table import TableSource, position_queue
from duerow.reservation import Receipt
from duerow.spark.jobs import MessageJob, SparkRun
from duerow.spark.tables.folder import Folder
from duerow.spark.tables.portions import NEW, FilePosition, Portions
from duerow.store import Moved, Query, Record, Turn

LONGEST_KEY: Final = 200
"""The longest name of a file, in bytes, that is used as a key."""

PUSHED_AT_ONCE: Final = 1_000


class SourceJob(MessageJob):
    """Runs a source: looks for more from time to time, and reads in the same way as message stations work."""

    station: TableSource

    def __init__(self, run: SparkRun, station: TableSource) -> None:
        super().__init__(run, _portions(run, station))
        self._folder = None if station.path is None else Folder(str(station.path))
        self._next_look: float | None = 0.0
        self._known: set[str] = set()

    @property
    def looks_in(self) -> float | None:
        """The seconds until it looks for more; None: not in this run."""
        return None if self._next_look is None else max(0.0, self._next_look - time.monotonic())

    def look_for_more(self) -> None:
        """Push what is new, if it is time to look."""
        if self.looks_in != 0.0:
            return
        every = self.station.every
        self._patiently(self._resume if self._folder is None else self._push_files)
        self._next_look = None if every is None else time.monotonic() + every.total_seconds()

    def _push_files(self) -> None:
        assert self._folder is not None  # noqa: S101 - as checked
        with self._folder.reaching(self.station):
            new = [name for name in self._folder.data_files() if name not in self._known]
        for start in range(0, len(new), PUSHED_AT_ONCE):
            some = new[start : start + PUSHED_AT_ONCE]
            self.queue.push_many([Draft(msgspec.to_builtins(FilePosition(name)), key=key_of(name)) for name in some])
            self._known.update(some)

    def _resume(self) -> None:
        """Start reading the table, only once ever; or continue, if reading had reached the end.

        Raises:
            ConfigurationError: reading has begun before, and someone has removed its position.
        """
        pushed = self.queue.push({"after": None}, key=NEW)
        found = self._positions(self._parked, LIVE)
        if home := [Turn(Receipt(one.id, one.token), _home(one, self.station.name)) for one in found]:
            self._run.database.run(lambda: self._run.database.store.messages.settle(home))
        elif pushed.outcome == "ignored" and not self._has_position():
            raise ConfigurationError(
                f"{self.station}: it has read rows of the table {self.station.table} before, and the message with its "
                f"position is gone from the queues {self.station.name!r} and {self._parked!r}, so it cannot tell where "
                f"to continue; push the {self.station.column} of the last row that was read, as the payload "
                f"{{'after': …}}, to {self.station.name!r}; {{'after': None}} reads all rows again"
            )

    @property
    def _parked(self) -> str:
        return position_queue(self.station.name)

    def _positions(self, queue: str, statuses: tuple[Status, ...] | None = None) -> list[Record]:
        messages = self._run.database.store.messages
        return self._run.database.run(lambda: messages.find(Query(queue, statuses=statuses, limit=1)))

    def _has_position(self) -> bool:
        """Return whether there is a position, dead or alive; looks twice, because another run may just be moving it."""
        return any(self._positions(queue) for queue in 2 * (self.station.name, self._parked))


def _home(position: Record, to: str) -> Moved:
    return Moved(
        to, None, None, position.key, position.headers, None, None, "reject", position.group, position.priority
    )


def key_of(name: str) -> str:
    """Return the key of a file: its name, or a digest of a name that is too long or not printable."""
    text = name.encode("utf-8", "surrogateescape")
    return name if len(text) <= LONGEST_KEY and name.isprintable() else sha256(text).hexdigest()


def _portions(run: SparkRun, station: TableSource) -> Portions:
    types: dict[str, Any] = {one.name: one.payload for one in run.pipeline.stations}
    given = {one.name: getattr(station, one.name) for one in fields(station) if one.init}
    return Portions(**given, into=types.get(station.to))
