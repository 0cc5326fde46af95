"""How long messages took, how many came and went, and which ways they took: functions over frames of history.

Each takes a frame of history, as `spark.read.format("duerow")` reads it, of as many queues as you like, and returns
another frame. Nothing is computed before you ask for rows. A frame is read several times, so `cache()` one that comes
from a database. Moments are timestamps; hours and minutes begin as in UTC, in whatever zone they are shown. Spans are
seconds.

A frame tells of the queues whose history it has, as far back as they keep it. Each function says what is not to be seen
from that.
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
"""How many links of messages made of others are followed: one for each fork and split, two for each join."""

PERCENTILES: Final = (0.5, 0.95, 0.99)

ACCURACY: Final = 10_000

ENDS: Final = ("done", "dropped", "dead")
"""The outcomes with which a message ends."""

COUNTS: Final = {
    "in": "in",
    "done": "done",
    "moved": "moved",
    "dropped": "dropped",
    "retried": "failed",
    "dead": "dead",
}
"""What `rates` counts, and which outcome that is."""

POINTS: Final = 240
"""How many moments a plot of counts shows, at most."""

SPREADS: Final = 60
"""How many moments a plot of percentiles shows, at most: each needs some turns to tell anything."""

QUEUES: Final = 10
"""How many queues a plot shows, those with most turns."""

WAYS: Final = 60
"""How many ways between queues a plot shows, the widest."""

SECOND: Final = 1_000_000
MINUTE: Final = 60 * SECOND
HOUR: Final = 60 * MINUTE
DAY: Final = 24 * HOUR
"""Microseconds."""

STEPS: Final = (
    *(SECOND * count for count in (1, 2, 5, 10, 15, 30)),
    *(MINUTE * count for count in (1, 2, 5, 10, 15, 30)),
    *(HOUR * count for count in (1, 2, 3, 6, 12)),
    *(DAY * count for count in (1, 7, 28)),
)
"""What one moment of a plot may stand for."""


def times(history: DataFrame, depth: int = DEPTH) -> DataFrame:
    """Return how long turns waited and were handled, and how long it took from the first push to the end.

    One row for each queue, hour in which turns ended, and span:

    - `queue` (string), `hour` (timestamp, when it begins),
    - `span` (string): "waiting", from the due time to the start of each turn; "handling", from its start to its end;
      "end to end", of messages that ended in the queue, from the first push to that end,
    - `count` (long): of how many,
    - `p50_seconds`, `p95_seconds`, `p99_seconds` (double): so many percent of them took no longer than that. Each
      is one that was measured; among more than 10,000 its place in line is exact to one of ten thousand.

    Retries are turns of their own and wait from the time that they are due again. Waiting for others of a group counts,
    and handling counts from the moment when a consumer was handed the message, whatever else it was handed with it. A
    turn whose consumer was never heard of again was handled until its lease ended. A message that was popped was not
    handled.

    The first push is that of what the message was made of, by forks, splits, joins and replays; of the parts of a
    set the earliest. What other messages were made of has not ended. A message that came back from the dead ended
    when it did so last. End to end leaves out what the frame does not know the first push of.

    Args:
        history: the frame of history.
        depth: how many links of messages made of others are followed at most.

    Raises:
        ConfigurationError: it is no frame of history, or the depth is none.
    """
    return _times(ancestry.turns(history), ancestry.check_depth(depth), HOUR).withColumnRenamed("begin", "hour")


def rates(history: DataFrame, live: DataFrame | None = None) -> DataFrame:
    """Return how many messages came into queues, and how many turns ended how.

    One row for each queue and minute in which anything happened:

    - `queue` (string), `minute` (timestamp, when it begins),
    - `in` (long): messages that came in: pushed, made by a fork, split, join or replay, moved there, or given up
      elsewhere and moved there as dead letters,
    - `done`, `moved`, `dropped`, `retried`, `dead` (long): turns that ended so; retried are those that failed
      while the message stayed.

    History is written when a turn ends. So what was pushed is counted when its first turn is over, in the minute
    of the push; with `live`, what has had no turn yet is counted too. Not to be seen are messages that were
    removed or purged before any turn ended. A move that kept no history, as one by an operator does not, is counted in
    the minute in which the message was first due in its new queue. A push that replaces a message counts if that one
    had had a turn.

    Args:
        history: the frame of history.
        live: a frame of live messages, for those that have had no turn yet.

    Raises:
        ConfigurationError: a frame is not of that kind.
    """
    return _rates(ancestry.turns(history, live), MINUTE).withColumnRenamed("begin", "minute")


def _times(turns: DataFrame, depth: int, step: int) -> DataFrame:
    """Return what `times` does, for each so many microseconds, the first of which are `begin`."""
    spans = _taken(turns).unionByName(_whole(turns, depth))
    percentiles = F.percentile_approx("seconds", F.array(*map(F.lit, PERCENTILES)), ACCURACY)
    found = spans.groupBy("queue", _begin("ended_at", step).alias("begin"), "span").agg(
        F.count(F.lit(1)).alias("count"), percentiles.alias("seconds")
    )
    named = [F.col("seconds")[place].alias(f"p{round(100 * share)}_seconds") for place, share in enumerate(PERCENTILES)]
    return found.select("queue", "begin", "span", "count", *named)


def _rates(turns: DataFrame, step: int) -> DataFrame:
    """Return what `rates` does, for each so many microseconds, the first of which are `begin`."""
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
    """Return what became of each message that was pushed, and of all that was made of it.

    One row for each origin, a message that was made of no other one:

    - `origin` (long): its id,
    - `began_at` (timestamp): when it was pushed,
    - `ended_at` (timestamp): when the last of all ended; null while one is open,
    - `seconds` (double): from the one to the other,
    - `messages` (long): how many there are, itself included,
    - `open` (long): those of which no end is known: they are still there, or went to a queue whose history is not in
      the frame,
    - `whole` (boolean): false if there is more to it than is shown: the origin itself is not in the frame, so that its
      time is that of the first message known, or it was made of others more than `depth` links away,
    - `stations` (array of struct): each stay of each of them in a queue, in the order in which they came there:
      `came_at` (timestamp), `id` (long), `stay` (long, the message's first, second, …), `queue` (string), `started_at`
      (timestamp, the first attempt), `finished_at` (timestamp, the last one), `attempts` (long, those that are known),
      `outcome` (string, of the last one; null: it is there), `moved_to` (string), `parents` (array of long: of which of
      them it was made; empty for the origin).

    A message keeps its id when it moves. What a fork or a split made names its parent. The parts of a join lead to the
    message of their set, which stands in a queue of its own, "<name>/sets", and that one to what was made of them. So
    what was joined of several origins is in the row of each. A replayed message leads to its replay.

    Of a set whose parts are not known, up to 100 of them are, by its headers.

    Args:
        history: the frame of history.
        live: a frame of live messages, for what is still there.
        depth: how many links of messages made of others are followed at most.

    Raises:
        ConfigurationError: a frame is not of that kind, or the depth is none.
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
    """Write one HTML page with plots of the ways, the rates and the times; it needs nothing else to be looked at.

    Shown are the ten queues with most turns and the sixty widest ways. A point of a plot stands for a second or more,
    so that there are at most 240 points of rates and 60 of times: a run of a minute is shown by the second, a year by
    the week, and the page does not grow with the history.

    What a frame station's result is made of is a whole batch: its messages are shown as coming from the station.

    Args:
        history: the frame of history.
        path: the file; its folder is made.
        live: a frame of live messages, for what has had no turn yet.
        depth: how many links of messages made of others are followed at most.

    Raises:
        ConfigurationError: a frame is not of that kind, the depth is none, or plotly is not installed.
        OSError: the file cannot be written.
    """
    try:
        from duerow import plots
        from duerow.spark import charts
    except ModuleNotFoundError as error:
        raise ConfigurationError(f"plots need the module {error.name}: pip install 'duerow[plots]'") from error
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
    about = f"{sum(row['count'] for row in counted):,} turns of messages in {len(counted):,} queues, as history tells."
    if len(counted) > QUEUES:
        about += f" Shown are the {QUEUES} with most turns, and not {len(counted) - QUEUES:,} others."
    drawn = [charts.flow(ways), *charts.rates(counts, by_count), *charts.times(spreads, by_spread)]
    plots.write(Path(path), "What became of messages", about, tiles, drawn, "Times are UTC.")


_KIND: Final = {"done": "good", "retried": "warn", "dead": "bad"}
"""How numbers look, by what they count."""


def _step(lasted: int, most: int) -> int:
    """Return the least of STEPS that cuts so many microseconds into no more than so many parts."""
    return next((step for step in STEPS if lasted < step * most), STEPS[-1])


def _flow(turns: DataFrame) -> DataFrame:
    """Return how many messages went from queue to queue, or were made there, and how they ended.

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
    """Return the spans of single turns: queue, ended_at, span, seconds."""
    waited, handled = _seconds("due_at", "started_at"), _seconds("started_at", "finished_at")
    spans = F.array(
        _span("waiting", waited),
        _span("handling", F.when(F.col("worker").isNotNull(), handled)),
    )
    each = turns.select("queue", F.col("finished_at").alias("ended_at"), F.explode(spans).alias("of"))
    return each.select("queue", "ended_at", "of.*").where(F.col("seconds").isNotNull())


def _whole(turns: DataFrame, depth: int) -> DataFrame:
    """Return the spans from first pushes to ends: queue, ended_at, span, seconds."""
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
    """Return the last turns of messages that ended, and of which no other was made: id, and what `last` has."""
    ended = messages.select("id", "last.*").where(F.col("outcome").isin(*ENDS) & F.col("part_of").isNull())
    return ended.join(links.select(F.col("parent").alias("id")).distinct(), "id", "left_anti")


def _ways(turns: DataFrame) -> DataFrame:
    """Return messages: id, created_at, of the last stay finished_at and outcome, and all stays as `stations`."""
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
    """Return of each message the `parents` that have the same origin: origin, id, parents.

    So a set of many parts names in the row of each origin only those that came from there.
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
    """Return the seconds between two moments; 0 if a clock was set back between them."""
    micros = F.unix_micros(end) - F.unix_micros(start)
    return F.when(micros < 0, 0.0).otherwise(micros / 1e6)


def _begin(moment: str, micros: int) -> Column:
    """Return when the hour or minute of a moment began."""
    at = F.unix_micros(moment)
    return F.timestamp_micros(at - F.pmod(at, F.lit(micros)))
