"""What functions over history tell is what plain Python finds in the same turns, across forks, splits and joins."""

from __future__ import annotations

import json
import math
import re
import sys
from collections import defaultdict
from datetime import datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

import pytest
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

import duerow
from duerow import Fork, Join, Pipeline, Relay, Sink, Split
from duerow.errors import ConfigurationError
from duerow.spark import analytics
from duerow.testing.conformance.fixtures import Place
from tests.spark.histories import BEGIN, history, live, still_there, turn

WEEK = timedelta(days=7)


def rows(frame: DataFrame) -> list[Row]:
    """Its rows, with moments as seconds after BEGIN."""
    moments = [name for name, kind in frame.dtypes if kind == "timestamp"]
    seconds = {name: (F.unix_micros(name) - F.lit(round(BEGIN.timestamp() * 1e6))) / 1e6 for name in moments}
    return list(frame.withColumns(seconds).collect())


def spans(frame: DataFrame) -> dict[tuple[str, str], tuple[Any, ...]]:
    """The numbers of each queue and span; of that which was popped an hour later, of that hour."""
    found = {(row["queue"], row["span"]): row for row in rows(frame)}
    assert {row["hour"] for of, row in found.items() if of[0] != "popped"} == {-1800}
    assert found["popped", "waiting"]["hour"] == 1800
    return {of: tuple(row[3:]) for of, row in found.items()}


def test_times_tell_of_turns_and_from_first_pushes_to_ends_with_the_percentiles_of_plain_python(
    session: SparkSession,
) -> None:
    random = Random(11)
    measured = {
        f"of {size}": [round(random.choice([random.randrange(9), random.expovariate(0.1)]), 6) for _ in range(size)]
        for size in (2, 3, 20, 21, 100, 101, 199)
    }
    many = [(queue, wait) for queue, waits in measured.items() for wait in waits]
    told = history(
        session,
        [
            *[turn(5_000 + n, 1, queue, start=wait, end=1_000) for n, (queue, wait) in enumerate(many)],
            # Split into two lines, one of which fails once, joined to a bill.
            turn(1, 1, "order", "moved", start=1, end=3, to="split"),
            turn(1, 3, "split", first_due=3, due=3, start=4, end=5, hops=1),
            turn(2, 1, "line", "failed", created=5, start=6, end=7, parent=1, hops=2),
            turn(2, 3, "line", created=5, due=9, start=10, end=12, to="line/sets", parent=1, hops=2, part_of=4),
            turn(3, 1, "line", created=5, start=7, end=8, to="line/sets", parent=1, hops=2, part_of=4),
            turn(4, 1, "line/sets", created=8, due=12, start=13, end=14),
            turn(5, 1, "bill", created=14, start=15, end=20, parent="2,3", parents=2, set=4, hops=3),
            # Given up, and replayed: it ended when its replay did.
            turn(6, 1, "order", "dead", created=100, start=101, end=102),
            turn(7, 1, "order", "dropped", created=130, start=131, end=132, replay_of=6),
            # Popped; brought back from the dead; with clocks set back; made of what is not known.
            turn(8, 1, "popped", created=3600, start=3602, end=3602, worker=None),
            turn(9, 1, "odd", "dead", created=0, start=1, end=2),
            turn(9, 3, "odd", "done", created=0, due=7, start=6, end=5),
            turn(10, 1, "odd", created=0, start=1, end=2, parent=3_000),
            turn(3_001, 1, "unknown", created=0, start=1, end=2, parent=3_000),
        ],
    )
    found = analytics.times(told, depth=3)
    assert [(field.name, field.dataType.simpleString()) for field in found.schema] == [
        ("queue", "string"),
        ("hour", "timestamp"),
        ("span", "string"),
        ("count", "bigint"),
        ("p50_seconds", "double"),
        ("p95_seconds", "double"),
        ("p99_seconds", "double"),
    ]
    shown = spans(found)
    assert {of: row for of, row in shown.items() if of[0] not in measured} == {
        ("order", "waiting"): (3, 1, 1, 1),
        ("order", "handling"): (3, 1, 2, 2),
        ("order", "end to end"): (1, 32, 32, 32),
        ("split", "waiting"): (1, 1, 1, 1),
        ("split", "handling"): (1, 1, 1, 1),
        ("line", "waiting"): (3, 1, 2, 2),
        ("line", "handling"): (3, 1, 2, 2),
        ("line/sets", "waiting"): (1, 1, 1, 1),
        ("line/sets", "handling"): (1, 1, 1, 1),
        ("bill", "waiting"): (1, 1, 1, 1),
        ("bill", "handling"): (1, 5, 5, 5),
        ("bill", "end to end"): (1, 20, 20, 20),
        ("popped", "waiting"): (1, 2, 2, 2),
        ("popped", "end to end"): (1, 2, 2, 2),
        ("odd", "waiting"): (3, 1, 1, 1),
        ("odd", "handling"): (3, 1, 1, 1),
        ("odd", "end to end"): (2, 2, 5, 5),
        ("unknown", "waiting"): (1, 1, 1, 1),
        ("unknown", "handling"): (1, 1, 1, 1),
    }
    for queue, waits in measured.items():
        line = sorted(waits)
        nearest = [line[math.ceil(share * len(line)) - 1] for share in (0.5, 0.95, 0.99)]
        assert shown[queue, "waiting"] == pytest.approx((len(line), *nearest)), queue


def test_rates_count_each_arrival_once_and_each_turn_by_its_outcome(session: SparkSession) -> None:
    told = history(
        session,
        [
            turn(1, 1, "a", "failed", start=1, end=2, hops=0),
            turn(1, 3, "a", "moved", due=60, first_due=0, start=61, end=62, to="b"),
            turn(1, 5, "b", "dead", first_due=62, due=62, start=121, end=122, to="b-dead", hops=1),
            turn(2, 1, "a", "dropped", created=30, due=90, start=91, end=92),  # pushed with a delay
            turn(3, 1, "a", "moved", created=30, start=31, end=32, to="keeps none"),
            turn(4, 7, "b", "done", created=0, first_due=70, start=71, end=72, hops=3),  # moved by what kept none
            turn(5, 1, "a", "moved", created=120, start=121, end=121, to="a"),  # in a circle, at one moment
            turn(5, 3, "a", "done", created=120, first_due=121, start=121, end=121, hops=1),
        ],
    )
    waiting = still_there(
        session,
        [
            live(3, "keeps none", created=30, first_due=32),  # history told that already
            live(6, "a", created=10, first_due=1_000),
            live(7, "b", created=65, first_due=65, start=66),
            live(8, "a", created=10, status="dead"),  # nor is this one new
        ],
    )
    names = ["in", "done", "moved", "dropped", "retried", "dead"]
    expected = {
        ("a", 0): [3, 0, 1, 0, 1, 0],
        ("a", 60): [0, 0, 1, 1, 0, 0],
        ("a", 120): [2, 1, 1, 0, 0, 0],
        ("b", 60): [2, 1, 0, 0, 0, 0],
        ("b", 120): [0, 0, 0, 0, 0, 1],
        ("b-dead", 120): [1, 0, 0, 0, 0, 0],
        ("keeps none", 0): [1, 0, 0, 0, 0, 0],
    }
    found = analytics.rates(told)
    assert found.columns == ["queue", "minute", *names]
    assert {(row["queue"], row["minute"]): [row[name] for name in names] for row in rows(found)} == expected
    expected["a", 0][0] += 1
    expected["b", 60][0] += 1
    found = analytics.rates(told, waiting)
    assert {(row["queue"], row["minute"]): [row[name] for name in names] for row in rows(found)} == expected


def forest(random: Random, size: int) -> tuple[list[tuple[Any, ...]], dict[int, set[int]]]:
    """Return random turns of messages that are made of one another, and the parents of each message."""
    turns: list[tuple[Any, ...]] = []
    parents: dict[int, set[int]] = {}
    ends: dict[int, float] = {}
    joined: set[int] = set()
    depths: dict[int, int] = {}
    for id in range(1, size + 1):
        known = sorted(one for one in ends if one not in joined and depths[one] <= 2)
        chosen = random.sample(known, min(len(known), random.choice([0, 0, 1, 1, 3])))
        created = max([float(id), *(ends[one] for one in chosen)])
        kind: dict[str, Any] = {}
        parents[id] = set(chosen)
        if len(chosen) == 1:
            kind = {random.choice(["parent", "replay_of"]): chosen[0], "hops": 1}
        elif chosen:
            kind = {"parent": ",".join(map(str, chosen)), "parents": len(chosen), "set": 10_000 + id, "hops": 1}
            stood = 10_000 + id
            joined |= set(chosen)
            at = {"first_due": created, "start": created, "end": created}
            turns += [turn(part, 99, "z", to="sets", part_of=stood, **at) for part in chosen]
            turns.append(turn(stood, 1, "sets", created=created, start=created, end=created))
            parents[stood], parents[id] = set(chosen), {stood}
        depths[id] = max([0, *(depths[one] + 1 + (len(chosen) > 1) for one in chosen)])
        moment, moves = created, random.randrange(3)
        for stay in range(moves + 1):
            outcome, to = ("done", None) if stay == moves else ("moved", f"q{stay + 1}")
            kind |= {"created": created, "first_due": moment}
            if random.random() < 0.3:
                turns.append(turn(id, 4 * stay + 1, f"q{stay}", "failed", start=moment, end=moment, **kind))
            turns.append(turn(id, 4 * stay + 3, f"q{stay}", outcome, start=moment + 1, end=moment + 2, to=to, **kind))
            moment += 2
        ends[id] = moment
    return turns, parents


def test_paths_hold_what_a_search_in_plain_python_finds_and_say_what_is_open_and_what_is_not_known(
    session: SparkSession,
) -> None:
    turns, parents = forest(Random(5), 60)
    depths: dict[int, int] = {}
    families: defaultdict[int, set[int]] = defaultdict(set)
    for id in parents:
        level, found, depth = {id}, {id}, 0
        while level := {up for one in level for up in parents[one]}:
            depth += 1
            found |= level
        depths[id] = depth
        for origin in found:
            if not parents[origin]:
                families[origin].add(id)
    deepest = max(depths.values())
    last = 1_004 + deepest
    others = [
        turn(1_001, 1, "a", "moved", to="b", start=1, end=2),
        turn(1_002, 1, "a", "failed", created=5, start=6, end=7),
        turn(1_004, 1, "a", created=9, start=9, end=9, parent=1_003),
        turn(1_005, 1, "a", created=10, start=10, end=10, parent="nonsense,1004"),
        *[turn(id, 1, "a", created=11, start=11, end=11, parent=id - 1) for id in range(1_006, last + 1)],
        turn(2_000, 1, "a", "moved", to="b", start=1, end=2),
    ]
    there = still_there(session, [live(1_001, "b", first_due=2), live(1_002, "a", created=5, first_due=5, start=8)])
    all_paths = rows(analytics.paths(history(session, [*turns, *others]), there, depth=deepest))
    told = {row["origin"]: row for row in all_paths}

    assert set(told) - {1_001, 1_002, 1_003, 1_004, 2_000} == set(families)
    for origin, family in families.items():
        row = told[origin]
        assert (row["messages"], row["open"], row["whole"]) == (len(family), 0, True)
        assert {one["id"] for one in row["stations"]} == family
        for one in row["stations"]:
            assert set(one["parents"]) == parents[one["id"]] & family
        assert [one["came_at"] for one in row["stations"]] == sorted(one["came_at"] for one in row["stations"])
        stays: defaultdict[int, list[str]] = defaultdict(list)
        for one in row["stations"]:
            stays[one["id"]].append(one["queue"])
        for id in family:
            known = sorted((token, queue) for own, token, queue, *_ in turns if own == id)
            assert stays[id] == list(dict.fromkeys(queue for _, queue in known))
    assert sum(one["attempts"] for one in told[1]["stations"] if one["id"] == 1) == sum(own == 1 for own, *_ in turns)

    odd = {id: row for id, row in told.items() if id not in families}
    assert {id: (row["messages"], row["open"], row["whole"], row["ended_at"]) for id, row in odd.items()} == {
        1_001: (1, 1, True, None),
        1_002: (1, 1, True, None),
        1_003: (deepest, 0, False, 11),  # the first that is known is 1,004, whose parent is not
        1_004: (1, 0, False, 11),  # as many links as are followed lead from the last to 1,004, and there is one more
        2_000: (1, 1, True, None),  # where it went there is neither history nor a look
    }
    stations = {origin: [tuple(one)[2:] for one in row["stations"]] for origin, row in odd.items()}
    assert [(one[1], one[4], one[5]) for one in stations[1_001]] == [("a", 1, "moved"), ("b", 0, None)]
    assert [(one[1], one[4], one[5]) for one in stations[1_002]] == [("a", 2, None)]


def shop() -> Pipeline:
    """Orders are split into lines, each line forked, joined again, and all lines of an order joined to a bill."""

    def halves(message: duerow.Message) -> dict[str, Any]:
        return {"price": message.payload, "stock": message.payload}

    kept: dict[str, Any] = {"history": WEEK}
    return Pipeline(
        "shop",
        [
            Relay("check", lambda message: message.payload, to="order", **kept),
            Split("order", lambda m: [[m.payload[0], n] for n in range(m.payload[1])], to="line", **kept),
            Fork("line", halves, to=["price", "stock"], **kept),
            Relay("price", lambda message: message.payload, to="both", **kept),
            Relay("stock", lambda message: message.payload, to="both", **kept),
            Join("both", lambda parts: parts[0].payload, by=lambda m: str(m.payload), count=2, to="bill", **kept),
            Sink("bill", lambda message: None, **kept),
        ],
    )


def test_a_real_run_is_told_whole_from_the_first_push_to_the_last_end(
    session: SparkSession, place: Place, db: duerow.Database, tmp_path: Path
) -> None:
    orders = [db.queue("check").push([name, lines]).id for name, lines in (("A", 2), ("B", 3), ("C", 1))]
    shop().run(db, until="idle")
    options = {"url": place.url, "table": "history", **place.settings}
    read = session.read.format("duerow").options(**options).load()
    told = session.createDataFrame(read.toArrow(), read.schema)  # small enough to be in the plan, as in `histories`
    found = {row["origin"]: row for row in analytics.paths(told, depth=4).collect()}
    assert sorted(found) == orders
    for id, lines in zip(orders, (2, 3, 1), strict=True):
        row = found[id]
        assert (row["messages"], row["open"], row["whole"]) == (1 + 5 * lines, 0, True)
        queues = [one["queue"] for one in row["stations"]]
        assert queues[:2] == ["check", "order"]
        assert sorted(queues[2:]) == sorted(["line", "price", "stock", "both", "both", "both/sets", "bill"] * lines)
        bills = [one for one in row["stations"] if one["queue"] == "bill"]
        assert row["ended_at"] == max(one["finished_at"] for one in bills)
        assert row["seconds"] == (row["ended_at"] - row["began_at"]).total_seconds()
    counts = {row["queue"]: row for row in analytics.rates(told).groupBy("queue").sum().collect()}
    assert {queue: row["sum(in)"] for queue, row in counts.items()} == {
        "check": 3,
        "order": 3,
        "line": 6,
        "price": 6,
        "stock": 6,
        "both": 12,
        "both/sets": 6,
        "bill": 6,
    }


def test_a_page_shows_ways_also_of_rows_of_frame_stations_rates_and_times_and_needs_nothing_else(
    session: SparkSession, tmp_path: Path
) -> None:
    turns = [
        turn(1, 1, "check", "moved", to="line"),
        turn(1, 3, "line", first_due=2, due=2, start=3, end=4, hops=1),
        turn(2, 1, "price", created=4, start=5, end=6, to="price/sets", parent=1, part_of=4),
        turn(3, 1, "price", created=4, start=5, end=6, to="price/sets", parent=1, part_of=4),
        turn(4, 1, "price/sets", created=6, start=7, end=8),
        turn(5, 1, "bill", "failed", created=8, start=9, end=10, parent="2,3", set=4),
        turn(5, 3, "bill", "dead", created=8, start=6_000, end=86_400, parent="2,3", set=4, to="letters"),
        turn(6, 1, "check", "dropped", created=80_000, start=80_001, end=80_002),
        # A batch of a frame station, and the rows of its result.
        *[turn(number, 1, "sales", worker="host:1:spark/a1") for number in range(11, 21)],
        *[turn(number, 1, "totals", created=5, batch="host:1:spark/a1") for number in (21, 22)],
    ]
    analytics.page(history(session, turns), tmp_path / "plots" / "page.html", depth=3)
    page = (tmp_path / "plots" / "page.html").read_text()
    assert not re.search(r"<(script|link|img)[^>]*\s(src|href)=", page)
    charts = [
        json.loads(data) for data in re.findall(r'<script type="application/json" id="chart[^>]*>(.*?)</script>', page)
    ]
    assert [chart["data"][0]["type"] for chart in charts] == ["sankey", "scatter", "bar", *["scatter"] * 3]
    ways = charts[0]["data"][0]
    names = [label.partition("<br>")[0] for label in ways["node"]["label"]]
    ends = zip(ways["link"]["source"], ways["link"]["target"], ways["link"]["value"], strict=True)
    assert {(names[source], names[target]): number for source, target, number in ends} == {
        ("check", "line"): 1,
        ("check", "dropped"): 1,
        ("line", "price"): 2,
        ("price", "price/sets"): 2,
        ("price/sets", "bill"): 1,
        ("bill", "letters"): 1,
        ("sales", "totals"): 2,
        ("totals", "done"): 2,
    }
    # Each way has the colour of where it comes from, or of how it ends.
    colours = dict(zip(ways["link"]["source"], ways["link"]["color"], strict=True))
    assert colours[names.index("sales")] != colours[names.index("totals")]
    # A day in ten minutes each: so many points, and nothing lost.
    (came,) = [trace for trace in charts[1]["data"] if trace["name"] == "check"]
    assert sum(came["y"]) == 2
    assert "in each 10 minutes" in page
    assert "in each 30 minutes" in page


@pytest.mark.soak
def test_a_page_of_a_short_run_is_shown_by_the_second(session: SparkSession, tmp_path: Path) -> None:
    charts = page_of(session, [turn(number, 1, "check", end=number) for number in range(1, 41)], tmp_path)
    (came,) = charts[1]["data"]
    assert came["y"] == [40] + [0] * 40  # all were pushed in the same second
    (waited,) = [trace for trace in charts[3]["data"] if trace["line"]["dash"] == "solid"]
    assert len(waited["x"]) == 40
    assert charts[3]["layout"]["xaxis"]["tickformat"].startswith("%H:%M:%S")


@pytest.mark.soak  # as are all pages but one: each takes Spark seconds to plan
def test_ticks_of_a_page_are_no_closer_than_what_a_point_stands_for(session: SparkSession, tmp_path: Path) -> None:
    charts = page_of(session, [turn(1, 1, "check", end=1)], tmp_path)
    along = charts[1]["layout"]["xaxis"]
    assert along["dtick"] == 1000
    first, last = map(datetime.fromisoformat, along["range"])
    assert last - first == timedelta(seconds=3)  # it came in one second and ended in the next


def page_of(session: SparkSession, turns: list[tuple[Any, ...]], folder: Path) -> list[Any]:
    """Write the page of these turns; return its charts."""
    analytics.page(history(session, turns), folder / "page.html", depth=1)
    page = (folder / "page.html").read_text()
    found = re.findall(r'<script type="application/json" id="chart\d+-data">(.*?)</script>', page)
    return [json.loads(data) for data in found]


def test_what_is_no_history_and_no_depth_is_refused_at_once(
    session: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = history(session, [turn(1, 1, "a")])
    waiting = still_there(session, [])
    with pytest.raises(ConfigurationError, match="not a frame of history: it lacks token, outcome"):
        analytics.times(waiting)
    with pytest.raises(ConfigurationError, match="not a frame of live messages: it lacks status"):
        analytics.rates(told, told)
    for depth in (0, True, 1.5, "8"):
        with pytest.raises(ConfigurationError, match="depth must be"):
            analytics.paths(told, depth=depth)  # type: ignore[arg-type]
    for module in [name for name in sys.modules if name.startswith(("plotly", "duerow.plots", "duerow.spark.charts"))]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, "plotly", None)
    monkeypatch.delattr("duerow.plots", raising=False)
    monkeypatch.delattr("duerow.spark.charts", raising=False)
    with pytest.raises(ConfigurationError, match=r"duerow\[plots\]"):
        analytics.page(told, tmp_path / "page.html")
