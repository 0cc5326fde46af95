"""What forks, splits, joins and rates refuse when they are made, how graphs are drawn, and that both faces run them."""

from __future__ import annotations

import asyncio
import re
import stat
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

import duerow
from duerow import Draft, Fork, Graph, Join, Message, Pipeline, Relay, Sink, Split, Switch, aio
from duerow.errors import ConfigurationError, InvalidMessage, NotSupported
from duerow.pipeline.graph import graph_text, read_graph
from duerow.worker.budget import Budget


def same(message: Any) -> Any:
    return message.payload


async def awaited(message: Any) -> Any:
    return message


def joining(**terms: Any) -> Join:
    return Join("j", same, to="k", **{"by": "payload.order", "count": 2, **terms})


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: Fork("a", same, to="bc"), "fork 'a': `to` must be a list of queues, not 'bc'"),
        (lambda: Fork("a", same, to=[]), r"fork 'a': `to` must be a list of queues, not \[\]"),
        (lambda: Fork("a", same, to={"x": "b"}), "fork 'a': `to` must be a list of queues, not {"),  # type: ignore[arg-type]
        (lambda: Fork("a", same, to=["b", "c d"]), "a target of fork 'a': .*'c d'"),
        (lambda: Fork("a", same, to=["b", "b"]), "`to` names a queue twice"),
        (lambda: Split("a", same, to="b c"), "the target of split 'a'"),
        (lambda: Split("a", awaited, to="b"), "split 'a': .* is an async function"),
        (lambda: Split("a", same, to="b", rate=(0, timedelta(1))), "split 'a': rate must be a maximum"),
        (lambda: Join("j" * 97, same, to="k", by="payload.order"), "the queue of the sets of join 'jjj"),
        (lambda: joining(by="payload..order"), "join 'j': `by` must name a field that the messages of a set share: "),
        (lambda: joining(by="colour"), "a message has no field 'colour'"),
        (
            lambda: joining(by=5),
            "join 'j': by must be a field such as 'payload.order', or a plain function of a message, not 5",
        ),
        (lambda: joining(by=awaited), "join 'j': by must be .*, not <function awaited"),
        (lambda: joining(complete=len), "join 'j': give count or complete, not both"),
        (lambda: joining(count=0), "join 'j': count must be an integer from 1 to the limit of 10000 parts, not 0"),
        (lambda: joining(count=True), "join 'j': count must be .*, not True"),
        (
            lambda: joining(count=11, limit=10),
            "join 'j': count must be an integer from 1 to the limit of 10 parts, not 11",
        ),
        (lambda: joining(limit=0), "join 'j': limit must be an integer of at least 1, not 0"),
        (
            lambda: joining(count=None, complete="all"),
            "join 'j': complete must be a plain function of the parts, not 'all'",
        ),
        (
            lambda: joining(count=None, complete=awaited),
            "join 'j': complete must be a plain function of the parts, not <function awaited",
        ),
        (lambda: joining(late="b c"), "`late` of join 'j'"),
        (lambda: Pipeline("p", [joining(late="elsewhere")], outputs=["k"]), "'elsewhere' for label 'late'"),
        (lambda: Pipeline("p", [joining(), Sink("j/sets", same)], outputs=["k"]), "has 'j/sets' twice"),
        (lambda: Pipeline("p", [Fork("a", same, to=["b", "nowhere"]), Sink("b", same)]), "unknown queue 'nowhere'"),
        (lambda: Pipeline("p", [Fork("a", same, to=["b"]), Split("b", same, to="a")]), "no entry leads to 'a', 'b'"),
        (lambda: Pipeline("p", [Relay("a", same, to="b"), Fork("b", same, to=["b"])]), "no way out of 'a', 'b'"),
    ],
)
def test_a_definition_that_cannot_be_is_refused_and_says_which(make: Callable[[], Any], said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        make()


@pytest.mark.parametrize("terms", [{"within": timedelta(0)}, {"remember": timedelta(-1)}, {"within": 5}])
def test_spans_of_a_join_that_cannot_be_are_refused_with_its_name(terms: dict[str, Any]) -> None:
    with pytest.raises(InvalidMessage, match="of join 'j'"):
        joining(**terms)


def everything() -> Pipeline:
    """A pipeline with every kind of station: numbers are split, forked, joined again, and go round in a loop."""
    return Pipeline(
        "all",
        [
            Split("in", lambda message: [{"n": n, "of": message.payload} for n in range(message.payload)], to="fork"),
            Fork("fork", lambda m: {"twice": m.payload, "pair": {**m.payload, "as": "itself"}}, to=["twice", "pair"]),
            Relay("twice", lambda m: {**m.payload, "as": "twice", "n2": 2 * m.payload["n"]}, to="pair"),
            Join(
                "pair",
                lambda parts: {"n": parts[0].payload["n"], "as": sorted(part.payload["as"] for part in parts)},
                by=lambda m: f"{m.payload['of']}-{m.payload['n']}",
                count=2,
                to="round",
            ),
            Switch("round", go_round, to={"again": "round", "out": "out"}),
        ],
        outputs=["out"],
    )


def go_round(message: Message) -> Any:
    left = message.payload.get("left", message.payload["n"])
    return ("again", {**message.payload, "left": left - 1}) if left else ("out", message.payload)


def run_blocking(url: str) -> list[Any]:
    with duerow.connect(url, migrate=True) as db:
        db.queue("in").push_many([Draft(5), Draft(3)])
        everything().run(db)
        assert db.queues() == ["out"]
        return sorted((m.payload["n"], tuple(m.payload["as"]), m.headers["hops"]) for m in db.queue("out").find())


def run_awaited(url: str) -> list[Any]:
    async def work() -> list[Any]:
        async with await aio.connect(url, migrate=True) as db:
            await db.queue("in").push_many([Draft(5), Draft(3)])
            await everything().arun(db)
            assert await db.queues() == ["out"]
            found = await db.queue("out").find()
            return sorted((m.payload["n"], tuple(m.payload["as"]), m.headers["hops"]) for m in found)

    return asyncio.run(work())


@pytest.mark.parametrize("run", [run_blocking, run_awaited])
def test_plain_workers_carry_messages_through_every_kind_of_station(
    run: Callable[[str], list[Any]], tmp_path: Path
) -> None:
    # Split, fork, twice, join, then as often round as the number says.
    wanted = sorted((n, ("itself", "twice"), 5 + n) for of in (5, 3) for n in range(of))
    assert run(f"sqlite:///{tmp_path}/app.db") == wanted


def test_a_station_with_a_rate_begins_no_more_than_that_over_all_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    span = timedelta(milliseconds=300)
    spent: list[tuple[float, int]] = []
    begun: list[tuple[Any, int]] = []
    spend = Budget.spend

    def noted(budget: Budget, count: int) -> None:
        spend(budget, count)
        spent.extend([budget._spent[-1]] if count else [])

    def note(message: Message) -> Any:
        begun.append((message.payload, sum(count for _, count in spent)))
        return message.payload

    monkeypatch.setattr(Budget, "spend", noted)
    pipeline = Pipeline("p", [Relay("a", note, to="b", rate=(2, span)), Sink("b", same)])
    with duerow.connect("memory://") as db:
        db.queue("a").push_many([Draft(number) for number in range(5)])
        pipeline.run(db)
    assert [payload for payload, _ in begun] == list(range(5))
    assert all(number <= allowed for number, (_, allowed) in enumerate(begun, 1)), "a handler begins what was counted"
    most = max(sum(count for at, count in spent if 0 <= at - start < span.total_seconds()) for start, _ in spent)
    assert most == 2


def test_what_a_store_cannot_do_is_refused_before_anything_is_begun() -> None:
    with duerow.connect("memory://?transactions=off") as db:
        db.queue("in").push(1)
        with pytest.raises(NotSupported, match="pipeline 'all': split 'in', fork 'fork', join 'pair' need a store"):
            everything().run(db)
        assert db.queue("in").find()[0].attempts == 0
        assert db.pipelines() == []


async def test_each_face_says_which_database_it_takes() -> None:
    pipeline = Pipeline("p", [Sink("a", same)])
    with (
        duerow.connect("memory://") as db,
        pytest.raises(ConfigurationError, match=r"arun\(\) takes the result of duerow.aio.connect\(\).*use run\(\)"),
    ):
        await pipeline.arun(db)  # type: ignore[arg-type]


# Drawings.


def drawn() -> Graph:
    return Pipeline(
        "drawn",
        [
            Fork("a", same, to=["b", "c"]),
            Split("b", same, to="d", rate=(5, timedelta(seconds=2))),
            Relay("c", same, to="d"),
            Join("d", same, by="payload.order", to="e", late="late"),
            Switch("e", same, to={'say "x"': "f", "back": "a"}),
            Sink("f", same),
            Relay("first", same, to="a"),
        ],
        outputs=["late"],
    ).graph


def test_a_pipeline_of_every_kind_of_station_is_drawn_as_mermaid() -> None:
    assert drawn().mermaid().splitlines() == [
        "flowchart LR",
        '    q0[/"a"\\]',
        '    q1[["b"]]',
        '    q2["c"]',
        '    q3[\\"d"/]',
        '    q4{"e"}',
        '    q5(["f"])',
        '    q6["first"]',
        '    q7[("late")]',
        "    q0 --> q1",
        "    q0 --> q2",
        "    q1 --> q3",
        "    q2 --> q3",
        "    q3 --> q4",
        "    q3 --> q7",
        '    q4 -- "say #quot;x#quot;" --> q5',
        '    q4 -- "back" --> q0',
        "    q6 --> q0",
    ]


def test_a_pipeline_is_drawn_in_the_language_of_graphviz() -> None:
    lines = drawn().dot().splitlines()
    assert lines[0] == 'digraph "drawn" {'
    assert '    q4 -> q5 [label="say \\"x\\""];' in lines
    assert "    q0 -> q2;" in lines
    assert any(line.startswith('    q1 [label="b" shape=box3d tooltip="split; ') for line in lines)
    assert any("at most 5 in 2 s" in line for line in lines)
    assert any("by payload.order" in line and "within 1:00:00" in line for line in lines)
    assert lines[-1] == "}"


def put_dot(folder: Path, script: str, monkeypatch: pytest.MonkeyPatch) -> None:
    program = folder / "dot"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")


def test_a_drawing_in_svg_is_what_graphviz_makes_of_the_graph(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put_dot(tmp_path, 'echo "<svg $1>"; cat; echo "</svg>"', monkeypatch)
    assert drawn().svg() == f"<svg -Tsvg>\n{drawn().dot()}</svg>\n"


def test_without_graphviz_a_drawing_in_svg_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ConfigurationError, match=r"'drawn' as SVG needs Graphviz's program `dot`.*install Graphviz"):
        drawn().svg()
    put_dot(tmp_path, "echo 'no memory' >&2; exit 1", monkeypatch)
    with pytest.raises(ConfigurationError, match="could not draw pipeline 'drawn': no memory"):
        drawn().svg()


def test_a_frame_station_is_drawn_and_kept_with_its_ways() -> None:
    station = duerow.Frame("a", print, {"small": "b", "large": "c"}, rowwise=True, batch=10)
    graph = Pipeline("p", [station], outputs=["b", "c"]).graph
    assert '{{"a"}}' in graph.mermaid()
    assert "shape=hexagon" in graph.dot()
    assert graph.stations[0].note == "row by row, batches of 10"
    assert read_graph("p", graph_text(graph)) == graph


@pytest.mark.parametrize(
    ("terms", "why"),
    [
        ({"to": []}, "frame 'a': `to` must be"),
        ({"to": {"x": "no queue"}}, "target of frame 'a' for 'x'"),
        ({"batch": 0}, "batch must be an integer of at least 1, not 0"),
        ({"schema": 5}, "schema must be a Spark StructType"),
        ({"rowwise": 1}, "rowwise must be True or False, not 1"),
        ({"observe": "count(*)"}, "observe must map names to aggregates"),
        ({"observe": {}}, "observe must map names to aggregates"),
        ({"observe": {"": "count(*)"}}, "observe must map names to aggregates"),
        ({"observe": {"n": 5}}, "observe['n'] must be an aggregate Column or SQL text, not 5"),
    ],
)
def test_a_frame_station_that_cannot_be_is_refused(terms: dict[str, Any], why: str) -> None:
    with pytest.raises(ConfigurationError, match=re.escape(why)):
        duerow.Frame("a", print, **{"to": "b"} | terms)
