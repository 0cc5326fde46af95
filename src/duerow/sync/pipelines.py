# Generated from ../aio/pipelines.py by tools/generate_sync.py; edit that file instead.
"""The pipelines of a database: declared so that others can see them, and changed only if no message is stranded."""

from __future__ import annotations

import logging
import secrets
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Final

from duerow.errors import ConfigurationError, DuplicateKey, shown
from duerow.message import LIVE
from duerow.payload.encoding import BATCHES, SETS
from duerow.phrases import Hint, counted
from duerow.pipeline.columns import ColumnChange, column_changes, with_known_columns
from duerow.pipeline.graph import Graph, Node, graph_text, read_graph, removed
from duerow.pipeline.table import position_queue
from duerow.reservation import Receipt
from duerow.store import Moved, Query, QueueStats, Record, Refused, StoredPipeline, Turn
from duerow.sync.executor import Executor

if TYPE_CHECKING:
    from duerow.pipeline.pipeline import Pipeline

REHOMED_AT_ONCE: Final = 1_000
"""How many messages of a removed station are moved in one transaction."""


LOG: Final = logging.getLogger("duerow.pipeline")


class Pipelines(Executor):
    """The part of a database for pipelines; see `Database`."""

    def declare_pipeline(self, pipeline: Pipeline, *, rehome: Mapping[str, str] | None = None) -> bool:
        """Store a pipeline in the database, so that others can see it; return whether that changed anything.

        Running a pipeline does this as well. If the new definition lacks a station, that station must have no messages
        under way (dead ones may stay), or `rehome` must say where they go. Messages that are leased there are moved
        too, and their consumers' settlements are refused. The position of a removed table source is kept, so that
        reading continues there if the source is added again.

        Args:
            pipeline: the pipeline; its stations and routes, and the names of its functions, are stored.
            rehome: maps a removed station to the station or output of the new definition that gets its messages; they
                keep their ids, keys, headers and due times, and their attempts start again at 0.

        Raises:
            ConfigurationError: another declared pipeline reads a queue of this one with a different station; a removed
                station has messages under way and `rehome` does not say where they go, or they cannot go there;
                `rehome` names a station that was not removed, or a target that the new definition does not have. The
                stored definition is unchanged.
        """
        return self._declare(pipeline, pipeline.graph, rehome)

    def _declare(
        self,
        pipeline: Pipeline,
        graph: Graph,
        rehome: Mapping[str, str] | None = None,
        new_columns: Collection[str] = (),
    ) -> bool:
        """Store a pipeline, with a graph that may contain more than the pipeline itself knows.

        Args:
            pipeline: see `declare_pipeline`.
            graph: its graph, with the columns of its frame stations if this program knows them.
            rehome: see `declare_pipeline`.
            new_columns: the frame stations whose columns may change in any way.
        """
        given: object = rehome
        if given is not None and not isinstance(given, Mapping):
            raise ConfigurationError(
                f"{pipeline}: rehome must be a mapping such as {{'old': 'new'}}, not {shown(given)}"
            )
        moves = dict(rehome or {})
        while True:
            stored = self.run(lambda: self.store.metadata.pipelines())
            known = next((one for one in stored if one.name == graph.name), None)
            before = None if known is None else read_graph(graph.name, known.definition)
            after = with_known_columns(before, graph)
            _require_own_queues(after, [one for one in stored if one is not known])
            if before == after:
                return False
            _check_rehome(before, after, moves)
            changes = column_changes(before, after, pipeline.stations)
            self._require_fit(after, [one for one in changes if one.station not in new_columns])
            gone = [] if before is None else removed(before, after)
            moved = moves if before is None else {**_parked_positions(before, gone), **moves}
            self._require_empty(after, [queue for queue in gone if queue not in moved], _sources(before))
            self._require_none_stopped(after, list(moved))
            for queue, to in moved.items():
                self._rehome(after, queue, to)
            self._require_empty(after, list(moved))
            kept = StoredPipeline(after.name, graph_text(after), secrets.randbits(62))
            if self._chart(after.name, None if known is None else known.version, kept):
                self._require_no_rival(after, kept, known)
                for one in changes:
                    LOG.info("frame %r of %s: column %s", one.station, after, one)
                return True

    def pipelines(self) -> list[Graph]:
        """Return the declared pipelines, ordered by name."""
        found = self.run(lambda: self.store.metadata.pipelines())
        return [read_graph(known.name, known.definition) for known in found]

    def forget_pipeline(self, name: str) -> bool:
        """Delete a stored pipeline; return whether there was one. Its queues and their messages stay as they are."""
        while True:
            known = self._charted(name)
            if known is None:
                return False
            if self._chart(name, known.version, None):
                return True

    def _charted(self, name: str) -> StoredPipeline | None:
        found = self.run(lambda: self.store.metadata.pipelines(name))
        return found[0] if found else None

    def _chart(self, name: str, version: int | None, after: StoredPipeline | None) -> bool:
        return self.run(lambda: self.store.metadata.set_pipeline(name, version, after))

    def _require_no_rival(self, after: Graph, kept: StoredPipeline, before: StoredPipeline | None) -> None:
        """Take a definition back if a pipeline that shares a queue with it was declared at the same moment."""
        stored = self.run(lambda: self.store.metadata.pipelines())
        try:
            _require_own_queues(after, [one for one in stored if one.name != after.name])
        except ConfigurationError:
            self._chart(after.name, kept.version, before)
            raise

    def _require_empty(self, after: Graph, queues: list[str], sources: Collection[str] = ()) -> None:
        """Raise ConfigurationError if messages are under way in these queues, since nothing will work on them."""
        for queue in queues:
            left = self._under_way(queue)
            if left:
                name = queue.removesuffix(SETS).removesuffix(BATCHES)
                to = Hint(f"rehome={{{name!r}: …}}", f"--rehome {name}=…")
                inner = "batches of a table" if queue.endswith(BATCHES) else "sets of a join"
                way = (", or rehome them with ", to) if name == queue else (f"; the {inner} cannot be rehomed",)
                if queue in sources:
                    way = ("; the positions of a source cannot be rehomed",)
                raise ConfigurationError(
                    f"{after}: it no longer has station {name!r}, and its queue {queue!r} still has "
                    f"{counted(left, 'message')} under way; run the old definition until the queue is empty",
                    *way,
                )

    def _require_fit(self, after: Graph, changes: list[ColumnChange]) -> None:
        """Raise ConfigurationError if messages wait in a queue whose columns they would not fit."""
        unfit: dict[str, list[ColumnChange]] = {}
        for change in changes:
            if not change.fits:
                unfit.setdefault(change.station, []).append(change)
        for queue, misfits in unfit.items():
            left = self._under_way(queue)
            if left:
                raise ConfigurationError(
                    f"{after}: the columns of frame {queue!r} have changed, and {counted(left, 'message')} under way "
                    f"in its queue may not fit: {'; '.join(map(str, misfits))}. Register an upgrade of the payload, "
                    "give the station a new name, run the old definition until the queue is empty, or accept the "
                    "change with ",
                    Hint(f"new_columns=[{queue!r}]", f"--new-columns {queue}"),
                )

    def _under_way(self, queue: str) -> int:
        standing = self._standing(queue)
        return standing.ready + standing.delayed + standing.leased + standing.waiting + standing.stopped

    def _require_none_stopped(self, after: Graph, queues: list[str]) -> None:
        for queue in queues:
            stopped = (self._standing(queue)).stopped
            if stopped:
                raise ConfigurationError(
                    f"{after}: queue {queue!r} has {counted(stopped, 'stopped message')} that would run if rehomed; "
                    "reschedule or remove them first"
                )

    def _standing(self, queue: str) -> QueueStats:
        return self.run(lambda: self.store.operations.queue_stats(queue, None))

    def _rehome(self, after: Graph, queue: str, to: str) -> None:
        """Move the live messages of a queue to another one, in order of id."""
        last = None
        while records := self._live(queue, last):
            refused = self._settle_moves([_rehomed(record, to) for record in records])
            for one in refused:
                if isinstance(one.error, DuplicateKey):
                    raise ConfigurationError(
                        f"{after}: message {one.receipt.id} of {queue!r} cannot be rehomed: {one.error}"
                    ) from one.error
            last = records[-1].id

    def _live(self, queue: str, after_id: int | None) -> list[Record]:
        query = Query(queue, statuses=LIVE, after_id=after_id, by_id=True, limit=REHOMED_AT_ONCE)
        return self.run(lambda: self.store.messages.find(query))

    def _settle_moves(self, turns: list[Turn]) -> list[Refused]:
        return self.run(lambda: self.store.messages.settle(turns))


def _require_own_queues(after: Graph, others: Collection[StoredPipeline]) -> None:
    """Raise ConfigurationError if another pipeline reads one of these queues with a different station.

    Each message of such a queue would go to whichever station reserves it first, so part of a pipeline's messages would
    get lost in the other. Two pipelines may share a station that is the same in both.
    """
    for other in others:
        try:
            theirs = read_graph(other.name, other.definition).readers
        except ConfigurationError:
            continue  # another version of duerow wrote it, and it must not stop this pipeline
        for queue, mine in after.readers.items():
            if queue in theirs and not mine.does_the_same_as(theirs[queue]):
                raise ConfigurationError(
                    f"{after}: its {mine.described} would read queue {queue!r}, and so does {theirs[queue].described} "
                    f"of pipeline {other.name!r}; each message would reach only one of them. {_ways_to_part(mine)}; "
                    f"or, if {other.name!r} is no longer used, delete its definition with ",
                    Hint(f"forget_pipeline({other.name!r})", f"`duerow pipeline forget {other.name}`"),
                )


def _parked_positions(before: Graph, gone: Collection[str]) -> dict[str, str]:
    """Return where the positions of removed table sources wait: a source with `every` always has one under way."""
    return {one.name: position_queue(one.name) for one in before.stations if one.name in gone and one.reads_table}


def _sources(graph: Graph | None) -> set[str]:
    """Return the names of the table sources, whose messages are positions."""
    return set() if graph is None else {one.name for one in graph.stations if one.kind == "source"}


def _ways_to_part(station: Node) -> str:
    if station.kind == "crossing":
        return "Give the queue in which the messages wait another name: Elsewhere(queue, connect, name=…)"
    return "Give one of the stations another name"


def _check_rehome(before: Graph | None, after: Graph, moves: Mapping[str, str]) -> None:
    """Raise ConfigurationError unless messages go from a removed station to an existing station or output."""
    targets = [*(station.name for station in after.stations), *after.outputs]
    for queue, to in moves.items():
        asked = f"{after}: messages of {shown(queue)} to {shown(to)}"
        if queue in (*after.queues, *after.outputs):
            raise ConfigurationError(f"{asked}: it still has {queue!r}; rehome only removed stations")
        if before is not None and queue not in before.queues:
            raise ConfigurationError(f"{asked}: it never had a station {shown(queue)}")
        if queue in _sources(before):
            raise ConfigurationError(
                f"{asked}: the messages of a table source say where to continue reading, and another station would "
                f"read everything again; keep the name {shown(queue)}, or let the old definition read all there is and "
                "then remove the source without rehoming it"
            )
        if queue.endswith((SETS, BATCHES)):
            inner = "batches of a table" if queue.endswith(BATCHES) else "sets of a join"
            raise ConfigurationError(
                f"{asked}: the {inner} cannot be rehomed; run the old definition until none are left"
            )
        if to not in targets:
            raise ConfigurationError(f"{asked}: it has no station or output {shown(to)}")


def _rehomed(record: Record, to: str) -> Turn:
    due = None if record.leased_by is not None else record.due_at
    move = Moved(to, None, None, record.key, record.headers, due, None, "reject", record.group, record.priority)
    return Turn(Receipt(record.id, record.token), move, None if record.group is None else (record.queue, record.group))
