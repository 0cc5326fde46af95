"""Tasks that die at points of their database's work that nobody chose. Executors import this module by its name."""

from __future__ import annotations

import os
import random
import signal
from collections import Counter
from dataclasses import KW_ONLY, dataclass, fields, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec
from pyspark import TaskContext
from pyspark.sql.datasource import DataSource, DataSourceStreamWriter, DataSourceWriter
from pyspark.sql.types import StructType

import duerow
from duerow import Frame, Pipeline, Relay, TableSink
from duerow.pipeline import Station
from duerow.pipeline.graph import Node
from duerow.spark.options import Reach
from duerow.spark.sink import writer
from duerow.spark.streams import stream_writer
from duerow.testing.faults import watch


@dataclass(frozen=True)
class RandomKills:
    """Kills the process at a point of its database's work, by chance; of all processes so many in each plan.

    Attributes:
        folder: where it is noted who was killed where.
        seed: of the chance.
        most: how many kills there are in a plan (`reserve`, `settle` and so on) in all.
        chance: of each point.
    """

    folder: str
    seed: int
    most: int
    chance: float

    def __call__(self, point: str) -> None:
        """Is told each point."""
        if _chance(self.seed, os.getpid()).random() < self.chance:
            self.kill(point)

    def kill(self, point: str) -> None:
        """Kill this process, if there are kills left."""
        plan = point.partition(":")[0]
        for number in range(self.most):
            try:
                with Path(self.folder, f"{plan} {number}").open("x") as note:
                    note.write(point)
            except FileExistsError:
                continue
            os.kill(os.getpid(), signal.SIGKILL)

    def where(self) -> Counter[str]:
        """Where processes were killed."""
        return Counter(one.read_text() for one in Path(self.folder).iterdir())

    def watch(self, database: duerow.Database) -> None:
        """Follow the work of a task's database; never that of the driver, which is the test."""
        if TaskContext.get() is not None and database not in _watched:
            _watched.append(database)
            watch(database, self)


_watched: list[duerow.Database] = []


@lru_cache(maxsize=1)
def _chance(seed: int, process: int) -> random.Random:
    return random.Random(f"{seed} {process}")


@dataclass(frozen=True)
class DyingRelay(Relay):
    """A relay whose tasks die."""

    _: KW_ONLY
    kills: RandomKills

    def queue(self, database: duerow.Database) -> duerow.Queue:
        """Return its queue, in a database that is watched."""
        self.kills.watch(database)
        return super().queue(database)

    def node(self) -> Node:
        """Return the station as a drawing has it."""
        return msgspec.structs.replace(super().node(), kind="relay")


@dataclass(frozen=True)
class DyingFrame(Frame):
    """A frame station whose tasks die."""

    _: KW_ONLY
    kills: RandomKills

    def queue(self, database: duerow.Database) -> duerow.Queue:
        """Return its queue, in a database that is watched."""
        self.kills.watch(database)
        return super().queue(database)

    def node(self) -> Node:
        """Return the station as a drawing has it."""
        return msgspec.structs.replace(super().node(), kind="frame")


def dying(pipeline: Pipeline, kills: RandomKills) -> Pipeline:
    """The same pipeline, of stations whose tasks die."""
    return Pipeline(pipeline.name, [_dying(one, kills) for one in pipeline.stations], outputs=pipeline.outputs)


def _dying(station: Station, kills: RandomKills) -> Station:
    kind = DyingRelay if isinstance(station, Relay) else DyingFrame
    given = {one.name: getattr(station, one.name) for one in fields(station) if one.init}
    made: Station = kind(**given, kills=kills)
    return made


@dataclass(frozen=True)
class DyingReach(Reach):
    """A way to the queues on which tasks die."""

    kills: RandomKills

    def open(self) -> duerow.Database:
        """Return a database that is watched."""
        database = super().open()
        self.kills.watch(database)
        return database


class DyingSource(DataSource):
    """The data source `duerow`, whose tasks die while they write; options: folder, seed, most, chance."""

    @classmethod
    def name(cls) -> str:
        """Return what it is called in `format(…)`."""
        return "dying"

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:
        """Return what writes a frame."""
        given, kills = self._split()
        return _on_dying_reach(writer(given, schema, overwrite), kills)

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamWriter:
        """Return what writes a stream."""
        given, kills = self._split()
        return _on_dying_reach(stream_writer(given, schema), kills)

    def _split(self) -> tuple[dict[str, str], RandomKills]:
        given = dict(self.options)
        folder, seed, most, chance = (given.pop(name) for name in ("folder", "seed", "most", "chance"))
        return given, RandomKills(folder, int(seed), int(most), float(chance))


def _on_dying_reach(made: Any, kills: RandomKills) -> Any:
    (name,) = [name for name in ("_pushing", "_ending") if name in vars(made)]
    told = vars(made)[name]
    own = {one.name: getattr(told.reach, one.name) for one in fields(told.reach)}
    setattr(made, name, replace(told, reach=DyingReach(**own, kills=kills)))
    return made


@dataclass(frozen=True)
class DyingTableSink(TableSink):
    """A table station whose tasks die while they make batches."""

    _: KW_ONLY
    kills: RandomKills

    def queue(self, database: duerow.Database) -> duerow.Queue:
        """Return its queue, in a database that is watched; deliveries of the same process are watched, too."""
        self.kills.watch(database)
        return super().queue(database)
