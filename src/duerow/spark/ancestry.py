"""Derive from a frame of history where messages were: their stays in queues, their parents and their origins.

Everything here is Spark SQL over columns. A frame is read several times for one result.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql import Window
from pyspark.sql import functions as F

from duerow.errors import ConfigurationError, shown
from duerow.lineage import OF_BATCH, PARENT, PART_OF, SET
from duerow.payload.dead_letter_headers import FROM
from duerow.queue.history import REPLAY_OF
from duerow.queue.mapping import HOPS

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

HISTORY: Final = (
    "id",
    "token",
    "queue",
    "outcome",
    "moved_to",
    "headers",
    "created_at",
    "first_due_at",
    "due_at",
    "started_at",
    "finished_at",
    "worker",
)
"""The columns of a frame of history that are used."""

LIVE: Final = (
    "id",
    "queue",
    "headers",
    "status",
    "created_at",
    "first_due_at",
    "due_at",
    "leased_by",
    "leased_until",
    "last_attempt_at",
)
"""The columns of a frame of live messages that are used."""

LATEST: Final = (1 << 63) - 1
"""The token of an unfinished turn."""


def turns(history: DataFrame, live: DataFrame | None = None) -> DataFrame:
    """Return finished turns, and live messages as unfinished turns.

    Columns: those of HISTORY except `headers`, and what the headers contained: `made_of` (struct of parents, set,
    replayed: ids of messages), `batch` (the claim of the batch that staged the message as a row of its result),
    `part_of` (the message of the set that it joined in this turn), `went_on` (the queue that it moved to in this turn),
    `was_moved` (whether it had been moved before). An unfinished turn has no outcome and no end, and a waiting message
    has no start.

    Raises:
        ConfigurationError: a frame lacks columns.
    """
    check_columns(history, HISTORY, "history")
    known = history.select(*HISTORY)
    if live is not None:
        check_columns(live, LIVE, "live messages")
        known = known.unionByName(_standing(live))
    went_on = F.when(F.col("outcome").isin("moved", "dead"), F.col("moved_to"))
    part_of = F.when((F.col("outcome") == "done") & F.col("moved_to").isNotNull(), _id_in(PART_OF))
    parents = F.filter(F.transform(F.split(_header(PARENT), ","), _as_id), lambda id: id < F.col("id"))
    made_of = F.struct(parents.alias("parents"), _id_in(SET).alias("set"), _id_in(REPLAY_OF).alias("replayed"))
    was_moved = _header(HOPS).isNotNull() | _header(FROM).isNotNull()
    batch = F.when(made_of["replayed"].isNull(), _header(OF_BATCH))
    said = {"made_of": made_of, "batch": batch, "part_of": part_of, "went_on": went_on, "was_moved": was_moved}
    return known.withColumns(said).drop("headers")


def arriving(turns: DataFrame) -> DataFrame:
    """Return turns, each with a column `begins`: whether it begins a stay of its message in a queue.

    Further columns: `stay` (the number of the message's stay, from 1), `told` (whether the previous turn records this
    arrival), and `came_at` where a stay begins. `came_at` is the time of the move, or of the push for the message's
    first stay. If the move left no history, it is the time when the message was first due in this queue.
    """
    of_message = Window.partitionBy("id").orderBy("token")
    before = F.lag(F.struct("queue", "first_due_at", "finished_at", "went_on")).over(of_message)
    last = F.col("before")
    told = F.coalesce(last["went_on"] == F.col("queue"), F.lit(False))
    stayed = (
        last["went_on"].isNull() & (last["queue"] == F.col("queue")) & (last["first_due_at"] == F.col("first_due_at"))
    )
    pushed = last.isNull() & ~F.col("was_moved")
    came_at = F.when(told, last["finished_at"]).when(pushed, F.col("created_at")).otherwise(F.col("first_due_at"))
    marked = turns.withColumn("before", before).withColumns(
        {"told": told, "begins": ~F.coalesce(stayed, F.lit(False)), "came_at": came_at}
    )
    return marked.withColumn("stay", F.sum(F.col("begins").cast("int")).over(of_message)).drop("before")


def stays(turns: DataFrame) -> DataFrame:
    """Return the stays of messages in queues.

    Columns: id, stay, queue, created_at, came_at, started_at, finished_at, attempts, outcome, moved_to. `started_at` is
    the start of the first attempt; `finished_at` and `outcome` belong to the last one. `attempts` counts the known
    attempts.
    """
    last = F.max_by(F.struct("finished_at", "outcome", "moved_to"), "token")
    found = (
        arriving(turns)
        .groupBy("id", "stay")
        .agg(
            F.first("queue").alias("queue"),
            F.min(F.when(F.col("begins"), F.col("came_at"))).alias("came_at"),
            F.min("created_at").alias("created_at"),
            F.min("started_at").alias("started_at"),
            F.count("started_at").alias("attempts"),
            last.alias("last"),
        )
    )
    of_all = ("id", "stay", "queue", "created_at", "came_at", "started_at", "attempts")
    return found.select(*of_all, "last.finished_at", "last.outcome", "last.moved_to")


def messages(turns: DataFrame) -> DataFrame:
    """Return messages: id, created_at, first_queue, batch, and `last`, the last known turn.

    `last` is a struct of queue, outcome, finished_at, moved_to, part_of and worker.
    """
    last = F.struct("queue", "outcome", "finished_at", "moved_to", "part_of", "worker")
    return turns.groupBy("id").agg(
        F.min("created_at").alias("created_at"),
        F.min_by("queue", "token").alias("first_queue"),
        F.min_by("batch", "token").alias("batch"),
        F.max_by(last, "token").alias("last"),
    )


def links(turns: DataFrame) -> DataFrame:
    """Return which messages were made from which: `child` and `parent`, ids of messages, each pair once.

    A message that was forked, split or replayed has its parents in its headers. Each part of a set names the set's
    message. The joined message names it too, with the ids of up to 100 parts, in case the parts have no history.
    """
    parents, of_set, replayed = F.col("made_of.parents"), F.col("made_of.set"), F.col("made_of.replayed")
    newest = F.coalesce(F.greatest(F.array_max(parents), of_set), F.lit(0))  # which ignores nulls
    is_replay = F.coalesce(replayed >= newest, F.lit(False))  # otherwise it has the header from its parent
    is_joined = of_set.isNotNull() & ~is_replay
    nearest = F.when(is_replay, F.array(replayed)).when(is_joined, F.array(of_set)).otherwise(parents)
    found = F.concat(
        _pairs(F.array(F.col("part_of")), lambda _: F.col("part_of"), lambda _: F.col("id")),
        _pairs(nearest, lambda _: F.col("id"), lambda parent: parent),
        _pairs(F.when(is_joined, parents), lambda _: of_set, lambda parent: parent),
    )
    return turns.select(F.explode(found).alias("link")).select("link.*").where("child is not null").distinct()


def batches(messages: DataFrame) -> DataFrame:
    """Return the batches whose staged results contain messages: `batch`, `source` (the station's queue).

    Rows that name the message from which they were made are not needed here.
    """
    made = messages.where(F.col("batch").isNotNull()).select("batch").distinct()
    lent = messages.select(F.col("last.worker").alias("batch"), F.col("last.queue").alias("source")).distinct()
    return lent.join(made, "batch")


def origins(turns: DataFrame, links: DataFrame, depth: int) -> DataFrame:
    """Return the origins of messages: `id`, `origin` and `beyond`, one row for each origin of a message.

    An origin is a message without known parents. It need not be in the frame. At most `depth` links are followed;
    `beyond` says whether there are more.
    """
    above = links.select(F.col("child").alias("at"), F.col("parent").alias("next"))
    reached = links.select(F.col("child").alias("of"), F.col("parent").alias("origin"))
    for _ in range(depth - 1):
        higher = reached.join(above, F.col("origin") == F.col("at"), "left")
        reached = higher.select("of", F.coalesce("next", "origin").alias("origin")).distinct()
    higher = reached.join(above, F.col("origin") == F.col("at"), "left")
    reached = higher.select("of", "origin", F.col("next").isNotNull().alias("beyond")).distinct()
    found = turns.select("id").distinct().join(reached, F.col("id") == F.col("of"), "left")
    return found.select(
        "id", F.coalesce("origin", "id").alias("origin"), F.coalesce("beyond", F.lit(False)).alias("beyond")
    )


def check_columns(frame: DataFrame, wanted: Sequence[str], of: str) -> None:
    """Raise ConfigurationError if a frame lacks columns."""
    found = set(frame.columns)
    if missing := [name for name in wanted if name not in found]:
        raise ConfigurationError(
            f"this is not a frame of {of}: it lacks {', '.join(missing)}; read one with "
            f"spark.read.format('duerow'), and choose columns afterward"
        )


def check_depth(depth: object) -> int:
    """Return a depth; raise ConfigurationError unless it is an integer of at least 1."""
    if type(depth) is not int or depth < 1:
        raise ConfigurationError(
            f"depth must be an integer of at least 1, not {shown(depth)}; it is the number of links to follow between "
            "messages"
        )
    return depth


def _pairs(of: Column, child: Callable[[Column], Column], parent: Callable[[Column], Column]) -> Column:
    """Return a link for each id in an array; no links if the array is null."""
    pairs = F.transform(of, lambda id: F.struct(child(id).alias("child"), parent(id).alias("parent")))
    return F.coalesce(pairs, F.array().cast("array<struct<child:bigint,parent:bigint>>"))


def _standing(live: DataFrame) -> DataFrame:
    """Return live messages as unfinished turns; the turn of a dead message is finished."""
    nothing: Any = F.lit(None)
    is_leased = F.col("leased_until").isNotNull()
    return live.where(F.col("status") != "dead").select(
        "id",
        F.lit(LATEST).alias("token"),
        "queue",
        nothing.cast("string").alias("outcome"),
        nothing.cast("string").alias("moved_to"),
        "headers",
        "created_at",
        "first_due_at",
        "due_at",
        F.when(is_leased, F.col("last_attempt_at")).alias("started_at"),
        nothing.cast("timestamp").alias("finished_at"),
        F.when(is_leased, F.col("leased_by")).alias("worker"),
    )


def _header(name: str) -> Column:
    return F.try_element_at("headers", F.lit(name))


def _id_in(header: str) -> Column:
    return _as_id(_header(header))


def _as_id(text: Column) -> Column:
    return text.try_cast("bigint")
