"""How long messages took, how many came and went, and where they went: functions over frames of history.

Each function takes a frame with the history of any number of queues, as `spark.read.format("duerow")` reads it, and
returns another frame. Nothing is computed until you ask for rows. The frame is read several times, so `cache()` it if
it comes from a database. Times are timestamps; hours and minutes begin as in UTC, whatever time zone they are shown in.
Spans are in seconds.

A frame covers the queues whose history it contains, as far back as they keep it. Each function documents what is
therefore missing.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F

from duerow.errors import ConfigurationError
from duerow.spark import ancestry

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

DEPTH: Final = 8
"""How many links between messages are followed: a fork or a split is one link, a join is two."""

PERCENTILES: Final = (0.5, 0.95, 0.99)

ACCURACY: Final = 10_000

ENDS: Final = ("done", "dropped", "dead")
"""The outcomes that end a message."""

COUNTS: Final = {
    "in": "in",
    "done": "done",
    "moved": "moved",
    "dropped": "dropped",
    "retried": "failed",
    "dead": "dead",
}
"""What `rates` counts, with the outcome behind each count."""

POINTS: Final = 240
"""The most points in time that a plot of counts shows."""

SPREADS: Final = 60
"""The most points in time that a plot of percentiles shows: each needs several turns to be meaningful."""

QUEUES: Final = 10
"""How many queues a plot shows: those with the most turns."""

WAYS: Final = 60
"""How many ways between queues a plot shows: the widest."""

SECOND: Final = 1_000_000
MINUTE: Final = 60 * SECOND
HOUR: Final = 60 * MINUTE
DAY: Final = 24 * HOUR
"""In microseconds."""

STEPS: Final = (
    *(SECOND * count for count in (1, 2, 5, 10, 15, 30)),
    *(MINUTE * count for count in (1, 2, 5, 10, 15, 30)),
    *(HOUR * count for count in (1, 2, 3, 6, 12)),
    *(DAY * count for count in (1, 7, 28)),
)
"""The spans that a point of a plot can stand for."""


def times(history: DataFrame, depth: int = DEPTH) -> DataFrame:
    """Return how long turns waited, how long they were handled, and how long it took from the first push to the end.

    There is one row for each queue, hour in which turns ended, and span:

    - `queue` (string), `hour` (timestamp, its beginning),
    - `span` (string): "waiting", from the due time to the start of each turn; "handling", from the start to the end of
      each turn; "end to end", for messages that ended in the queue, from the first push to the end,
    - `count` (long): how many spans were measured,
    - `p50_seconds`, `p95_seconds`, `p99_seconds` (double): this percentage of the spans was at most that long. Each is
      a measured value; among more than 10,000, its rank is exact to one part in ten thousand.

    Retries are separate turns and wait from the time when they are due again. Waiting for other messages of a group
    counts. Handling counts from the moment when a consumer received the message, even if it received others with it. If
    a turn's consumer disappeared, the turn was handled until its lease ended. A message that was popped was not
    handled.

    The first push is the push of the message's origin, through forks, splits, joins and replays; for a set, the
    earliest push of its parts. A message from which others were made has not ended. If a dead message was revived, its
    last end counts. "End to end" leaves out messages whose first push is not in the frame.

    Args:
        history: the frame of history.
        depth: the maximum number of links between messages that are followed.

    Raises:
        ConfigurationError: the frame is not one of history, or the depth is invalid.
    """
    return _times(ancestry.turns(history), ancestry.check_depth(depth), HOUR).withColumnRenamed("begin", "hour")


def rates(history: DataFrame, live: DataFrame | None = None) -> DataFrame:
    """Return how many messages arrived in queues, and how many turns ended with each outcome.

    There is one row for each queue and minute in which anything happened:

    - `queue` (string), `minute` (timestamp, its beginning),
    - `in` (long): messages that arrived: pushed; made by a fork, split, join or replay; moved there; or failed for good
      elsewhere and moved there as dead letters,
    - `done`, `moved`, `dropped`, `retried`, `dead` (long): turns with this outcome; a retried turn is one that failed
      while the message stayed.

    History is written when a turn ends. Therefore a push is counted only after the message's first turn has ended, in
    the minute of the push; with `live`, messages that have had no turn yet are counted too. Messages that were removed
    or purged before any turn ended are not counted. A move that left no history, such as an operator's, is counted in
    the minute in which the message was first due in its new queue. A push that replaces a message counts if the
    replaced message had had a turn.

    Args:
        history: the frame of history.
        live: a frame of live messages, to count also those that have had no turn yet.

    Raises:
        ConfigurationError: a frame is not of the right kind.
    """
    return _rates(ancestry.turns(history, live), MINUTE).withColumnRenamed("begin", "minute")


def _times(turns: DataFrame, depth: int, step: int) -> DataFrame:
    """Return the result of `times` for intervals of `step` microseconds; `begin` is when each starts."""
    spans = _taken(turns).unionByName(_whole(turns, depth))
    percentiles = F.percentile_approx("seconds", F.array(*map(F.lit, PERCENTILES)), ACCURACY)
    found = spans.groupBy("queue", _begin("ended_at", step).alias("begin"), "span").agg(
        F.count(F.lit(1)).alias("count"), percentiles.alias("seconds")
    )
    named = [F.col("seconds")[place].alias(f"p{round(100 * share)}_seconds") for place, share in enumerate(PERCENTILES)]
    return found.select("queue", "begin", "span", "count", *named)


def _rates(turns: DataFrame, step: int) -> DataFrame:
    """Return the result of `rates` for intervals of `step` microseconds; `begin` is when each starts."""
    over = turns.where(F.col("outcome").isNotNull())
    ended = over.select("queue", F.col("finished_at").alias("at"), F.col("outcome").alias("what"))
    moved = over.where(F.col("went_on").isNotNull())
    told = moved.select(F.col("went_on").alias("queue"), F.col("finished_at").alias("at"), F.lit("in").alias("what"))
    others = ancestry.arriving(turns).where(F.col("begins") & ~F.col("told"))
    others = others.select("queue", F.col("came_at").alias("at"), F.lit("in").alias("what"))
    return (
        ended.unionByName(told)
        .unionByName(others)
        .groupBy("queue", _begin("at", step).alias("begin"))
        .agg(*[F.count_if(F.col("what") == outcome).alias(name) for name, outcome in COUNTS.items()])
    )


def paths(history: DataFrame, live: DataFrame | None = None, depth: int = DEPTH) -> DataFrame:
    """Return what happened to each message that was pushed, and to all messages made from it.

    There is one row for each origin, which is a message that was not made from any other:

    - `origin` (long): its id,
    - `began_at` (timestamp): when it was pushed,
    - `ended_at` (timestamp): when the last message ended; null while any is open,
    - `seconds` (double): from `began_at` to `ended_at`,
    - `messages` (long): how many messages there are, the origin included,
    - `open` (long): messages without a known end: they are still in a queue, or went to one whose history is not in the
      frame,
    - `whole` (boolean): false if something is missing: the origin itself is not in the frame, so `began_at` is the time
      of the first known message; or the origin was made from others more than `depth` links away,
    - `stations` (array of struct): each stay of each message in a queue, in the order of arrival: `came_at`
      (timestamp), `id` (long), `stay` (long: 1 for the message's first stay, 2 for its second, …), `queue` (string),
      `started_at` (timestamp, of the first attempt), `finished_at` (timestamp, of the last attempt), `attempts` (long,
      of the known ones), `outcome` (string, of the last attempt; null if the message is still there), `moved_to`
      (string), `parents` (array of long: the messages of this row from which it was made; empty for the origin).

    A message keeps its id when it moves. The messages that a fork or a split makes name their parent. The parts of a
    join lead to their set's message, which is in a separate queue, "<name>/sets", and that message leads to the one
    made from it. Therefore a message joined from several origins is in the row of each origin. A replayed message leads
    to its replay.

    Even if the parts of a set are not in the frame, its headers name up to 100 of them.

    Args:
        history: the frame of history.
        live: a frame of live messages, to include those that are still in their queues.
        depth: the maximum number of links between messages that are followed.

    Raises:
        ConfigurationError: a frame is not of the right kind, or the depth is invalid.
    """
    turns = ancestry.turns(history, live)
    links = ancestry.links(turns)
    origins = ancestry.origins(turns, links, ancestry.check_depth(depth))
    family = _ways(turns).join(origins, "id").join(_parents(links, origins), ["origin", "id"], "left")
    nobody = F.array().cast("array<bigint>")
    stations = F.transform("stations", lambda one: one.withField("parents", F.coalesce("parents", nobody)))
    is_origin, is_open = F.col("id") == F.col("origin"), ~F.coalesce(F.col("outcome").isin(*ENDS), F.lit(False))
    found = family.groupBy("origin").agg(
        F.coalesce(F.max(F.when(is_origin, F.col("created_at"))), F.min("created_at")).alias("began_at"),
        F.max("finished_at").alias("latest"),
        F.count(F.lit(1)).alias("messages"),
        F.count_if(is_open).alias("open"),
        (F.max(is_origin) & ~F.max("beyond")).alias("whole"),
        F.array_sort(F.flatten(F.collect_list(stations))).alias("stations"),
    )
    found = found.withColumn("ended_at", F.when(F.col("open") == 0, F.col("latest")))
    lasted = _seconds("began_at", "ended_at").alias("seconds")
    return found.select("origin", "began_at", "ended_at", lasted, "messages", "open", "whole", "stations")


def page(history: DataFrame, path: str | Path, live: DataFrame | None = None, depth: int = DEPTH) -> None:
    """Write a self-contained HTML page with plots of the ways, the rates and the times.

    It shows the ten queues with the most turns and the sixty widest ways. Each point of a plot stands for a second or
    more, so that there are at most 240 points for rates and 60 for times: a run of a minute is shown by the second, a
    year by the week. The page does not grow with the history.

    Messages in a frame station's result that are made from a whole batch are shown as coming from the station.

    Args:
        history: the frame of history.
        path: the file; its folder is created.
        live: a frame of live messages, to include also those that have had no turn yet.
        depth: the maximum number of links between messages that are followed.

    Raises:
        ConfigurationError: a frame is not of the right kind, the depth is invalid, or plotly is not installed.
        OSError: the file cannot be written.
    """
    try:
        from duerow import plots
        from duerow.spark import charts
    except ModuleNotFoundError as error:
        raise ConfigurationError(f"plots need the module {error.name}; run pip install 'duerow[plots]'") from error
    turns = ancestry.turns(history)
    by_queue = turns.groupBy("queue").agg(
        F.count(F.lit(1)).alias("count"),
        F.unix_micros(F.min("created_at")).alias("first"),
        F.unix_micros(F.max("finished_at")).alias("last"),
    )
    counted = by_queue.orderBy(F.desc("count"), "queue").collect()
    shown = F.col("queue").isin([row["queue"] for row in counted[:QUEUES]])
    lasted = max((row["last"] for row in counted), default=0) - min((row["first"] for row in counted), default=0)
    by_count, by_spread = _step(lasted, POINTS), _step(lasted, SPREADS)
    at = F.unix_micros("begin")
    counts = _rates(ancestry.turns(history, live), by_count).where(shown).withColumn("at", at).collect()
    ways = _flow(turns).orderBy(F.desc("count"), "source", "target").limit(WAYS).collect()
    spreads = _times(turns, ancestry.check_depth(depth), by_spread).where(shown).withColumn("at", at).collect()
    totals = {name: sum(row[name] for row in counts) for name in COUNTS}
    tiles = [(name, number, _KIND.get(name, "")) for name, number in totals.items()]
    about = (
        f"{sum(row['count'] for row in counted):,} turns of messages in {len(counted):,} queues, according to history."
    )
    if len(counted) > QUEUES:
        about += f" The {QUEUES} with the most turns are shown, {len(counted) - QUEUES:,} others are not."
    drawn = [charts.flow(ways), *charts.rates(counts, by_count), *charts.times(spreads, by_spread)]
    plots.write(Path(path), "What happened to messages", about, tiles, drawn, "Times are UTC.")


_KIND: Final = {"done": "good", "retried": "warn", "dead": "bad"}
"""The look of a number, by what it counts."""


def _step(lasted: int, most: int) -> int:
    """Return the smallest of STEPS that divides `lasted` microseconds into at most `most` parts."""
    return next((step for step in STEPS if lasted < step * most), STEPS[-1])


def _flow(turns: DataFrame) -> DataFrame:
    """Return how many messages went from queue to queue, or were made from others, and how they ended.

    Columns: source, target, is_end (whether the target is an outcome), count.
    """
    links, messages = ancestry.links(turns), ancestry.messages(turns)
    moved = turns.where(F.col("went_on").isNotNull())
    parents = messages.select(F.col("id").alias("parent"), F.col("last.queue").alias("source"))
    children = messages.select(F.col("id").alias("child"), F.col("first_queue").alias("target"))
    made = links.join(parents, "parent").join(children, "child").select("source", "target")
    batches = ancestry.batches(messages)
    staged = messages.join(links.select(F.col("child").alias("id")).distinct(), "id", "left_anti")
    rows = staged.join(batches, "batch").select("source", F.col("first_queue").alias("target"))
    ends = _ended(messages, links).where(F.col("moved_to").isNull())
    ends = ends.join(batches.select(F.col("batch").alias("worker")), "worker", "left_anti")
    ended = ends.select(F.col("queue").alias("source"), F.col("outcome").alias("target"), F.lit(True).alias("is_end"))
    ways = moved.select(F.col("queue").alias("source"), F.col("went_on").alias("target"))
    ways = ways.unionByName(made).unionByName(rows)
    ways = ways.withColumn("is_end", F.lit(False)).unionByName(ended)
    return ways.groupBy("source", "target", "is_end").agg(F.count(F.lit(1)).alias("count"))


def _taken(turns: DataFrame) -> DataFrame:
    """Return the spans of individual turns: queue, ended_at, span, seconds."""
    waited, handled = _seconds("due_at", "started_at"), _seconds("started_at", "finished_at")
    spans = F.array(
        _span("waiting", waited),
        _span("handling", F.when(F.col("worker").isNotNull(), handled)),
    )
    each = turns.select("queue", F.col("finished_at").alias("ended_at"), F.explode(spans).alias("of"))
    return each.select("queue", "ended_at", "of.*").where(F.col("seconds").isNotNull())


def _whole(turns: DataFrame, depth: int) -> DataFrame:
    """Return the spans from the first push to the end: queue, ended_at, span, seconds."""
    links = ancestry.links(turns)
    messages = ancestry.messages(turns)
    pushed = messages.select(F.col("id").alias("origin"), F.col("created_at").alias("pushed_at"))
    began = (
        ancestry.origins(turns, links, depth)
        .join(pushed, "origin", "left")
        .groupBy("id")
        .agg(
            F.min("pushed_at").alias("began_at"),
            F.every(F.col("pushed_at").isNotNull() & ~F.col("beyond")).alias("whole"),
        )
    )
    spans = _ended(messages, links).join(began.where("whole"), "id")
    named = _span("end to end", _seconds("began_at", "finished_at")).alias("of")
    return spans.select("queue", F.col("finished_at").alias("ended_at"), named).select("queue", "ended_at", "of.*")


def _ended(messages: DataFrame, links: DataFrame) -> DataFrame:
    """Return the last turns of messages that ended and from which no other was made: id and the fields of `last`."""
    ended = messages.select("id", "last.*").where(F.col("outcome").isin(*ENDS) & F.col("part_of").isNull())
    return ended.join(links.select(F.col("parent").alias("id")).distinct(), "id", "left_anti")


def _ways(turns: DataFrame) -> DataFrame:
    """Return messages: id, created_at, finished_at and outcome of the last stay, and all stays in `stations`."""
    names = ("came_at", "id", "stay", "queue", "started_at", "finished_at", "attempts", "outcome", "moved_to")
    return (
        ancestry.stays(turns)
        .groupBy("id")
        .agg(
            F.min("created_at").alias("created_at"),
            F.max_by("finished_at", "stay").alias("finished_at"),
            F.max_by("outcome", "stay").alias("outcome"),
            F.collect_list(F.struct(*names)).alias("stations"),
        )
    )


def _parents(links: DataFrame, origins: DataFrame) -> DataFrame:
    """Return, for each message, its `parents` with the same origin: origin, id, parents.

    So in the row of each origin, a set with many parts names only the parts that came from that origin.
    """
    above = origins.select("origin", F.col("id").alias("parent"))
    return (
        links.join(above, "parent")
        .groupBy("origin", F.col("child").alias("id"))
        .agg(F.sort_array(F.collect_set("parent")).alias("parents"))
    )


def _span(name: str, seconds: Column) -> Column:
    return F.struct(F.lit(name).alias("span"), seconds.alias("seconds"))


def _seconds(start: str, end: str) -> Column:
    """Return the seconds between two times; 0 if a clock was set back between them."""
    micros = F.unix_micros(end) - F.unix_micros(start)
    return F.when(micros < 0, 0.0).otherwise(micros / 1e6)


def _begin(moment: str, micros: int) -> Column:
    """Return the start of the interval of this length that contains a time."""
    at = F.unix_micros(moment)
    return F.timestamp_micros(at - F.pmod(at, F.lit(micros)))
