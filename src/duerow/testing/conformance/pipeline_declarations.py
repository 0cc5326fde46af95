"""Declared pipelines are visible to other programs, and a new definition strands no message."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from duerow import Database, Draft, Elsewhere, Join, Pipeline, Relay, Sink, TableSource
from duerow.errors import ConfigurationError
from duerow.pipeline.graph import graph_text
from duerow.store import StoredPipeline
from duerow.testing.clock import MovableClock, hours, minutes
from duerow.testing.contents import everything, payloads
from duerow.testing.pipeline_steps import carry


def same(message: Any) -> Any:
    return message.payload


def orders(*middle: str, **terms: Any) -> Pipeline:
    """Return a pipeline from `in` through the stations in the middle to `end`."""
    names = ["in", *middle, "end"]
    return Pipeline("orders", [*(Relay(name, same, to=to) for name, to in pairwise(names)), Sink("end", same)], **terms)


def test_pipelines_that_were_declared_are_there_for_others_to_see(db: Database) -> None:
    assert db.pipelines() == []
    assert db.declare_pipeline(orders("check"))
    assert db.declare_pipeline(Pipeline("another", [Sink("other", same)]))
    assert not db.declare_pipeline(orders("check"))
    another, kept = db.pipelines()
    assert kept == orders("check").graph
    assert (another.name, kept.mermaid()) == ("another", orders("check").mermaid())
    assert db.declare_pipeline(orders("check", "price"))
    assert [station.name for station in db.pipelines()[1].stations] == ["in", "check", "price", "end"]
    assert db.forget_pipeline("orders")
    assert not db.forget_pipeline("orders")
    assert [graph.name for graph in db.pipelines()] == ["another"]


def other(message: Any) -> Any:
    return message.payload


def test_a_queue_that_another_pipeline_reads_with_a_different_station_is_refused_before_anything_changes(
    db: Database,
) -> None:
    joins = db.store.capabilities.transactions
    theirs = Join("check", len, by="payload", count=2, to="end") if joins else Relay("check", same, to="end")
    db.declare_pipeline(Pipeline("theirs", [theirs], outputs=["end"]))
    db.declare_pipeline(Pipeline("mine", [Sink("in", same)]))
    db.queue("in").push(1)
    before = everything(db), db.pipelines()
    clashing = [(Sink("check", same), "sink 'check'"), (Relay("check", other, to="end"), "relay 'check'")]
    if joins:
        clashing.append((Join("check", len, by="key", count=2, to="end"), "join 'check'"))
        clashing.append((Sink("check/sets", same), "sink 'check/sets'"))
    for station, described in clashing:
        outputs = ["end"] if station.ways else []
        pipeline = Pipeline("mine", [Relay("start", same, to=station.name), station], outputs=outputs)
        with pytest.raises(ConfigurationError) as refused:
            db.declare_pipeline(pipeline, rehome={"in": "start"})
        said = f"pipeline 'mine': its {described} would read queue {station.name!r}, and so does "
        assert str(refused.value).startswith(f"{said}{theirs.node().kind} 'check' of pipeline 'theirs'; each message")
        assert "forget_pipeline('theirs')" in str(refused.value)
    assert (everything(db), db.pipelines()) == before
    assert db.declare_pipeline(Pipeline("shares", [Relay("start", same, to="check"), theirs], outputs=["end"]))
    db.forget_pipeline("theirs")
    db.forget_pipeline("shares")
    assert db.declare_pipeline(Pipeline("mine", [Sink("check", same)]), rehome={"in": "check"})


def test_messages_for_different_databases_cannot_wait_in_the_same_queue_of_two_pipelines(db: Database) -> None:
    def sending(name: str, database: str, local: str = "") -> Pipeline:
        there = Elsewhere("readings", dict, name=local, database=database)
        return Pipeline(name, [Relay(f"{name}-in", same, to=there)])

    db.declare_pipeline(sending("first", "the centre"))
    assert db.declare_pipeline(sending("same", "the centre"))
    with pytest.raises(ConfigurationError, match="its crossing 'readings' to readings in the archive would read queue"):
        db.declare_pipeline(sending("second", "the archive"))
    assert [one.name for one in db.pipelines()] == ["first", "same"]
    assert db.declare_pipeline(sending("second", "the archive", "archived"))


def test_a_definition_that_was_changed_meanwhile_is_not_written_over(db: Database) -> None:
    def put(version: int | None, after: StoredPipeline | None) -> bool:
        return db.run(lambda: db.store.metadata.set_pipeline("p", version, after))

    first, second = StoredPipeline("p", '{"a":1}', 1), StoredPipeline("p", "[]", 2)
    assert [put(1, first), put(None, first), put(None, second), put(2, second)] == [False, True, False, False]
    assert db.run(lambda: db.store.metadata.pipelines("p")) == [first]
    assert [put(1, second), put(1, None), db.run(db.store.metadata.pipelines)] == [True, False, [second]]
    assert [put(2, None), put(2, None), db.run(db.store.metadata.pipelines)] == [True, False, []]


def test_a_station_with_messages_under_way_cannot_be_removed_unless_they_go_somewhere(
    db: Database, clock: MovableClock
) -> None:
    db.declare_pipeline(orders("check", "price"))
    check = db.queue("check")
    drafts = [Draft("leased", key="l"), Draft("due", headers={"a": 1}, priority=3), Draft("later", delay=hours(1))]
    ids = [one.id for one in check.push_many([*drafts, Draft("grouped", group="g"), Draft("behind", group="g")])]
    check.push("dead")
    check.bury(next(one for one in check.reserve_many(9) if one.message.payload == "dead"), "no use")
    clock.advance(minutes(2))
    (leased,) = check.reserve_many(1)
    before = everything(db)
    with pytest.raises(
        ConfigurationError, match="no longer has station 'check', and its queue 'check' still has 5 messages under way"
    ):
        db.declare_pipeline(orders("price"))
    wrong: list[tuple[Any, str]] = [
        ("check", "rehome must be a mapping such as"),
        ({"check": "nowhere"}, "no station or output 'nowhere'"),
        ({"price": "in", "check": "in"}, "it still has 'price'; rehome only removed stations"),
        ({"never": "in"}, "it never had a station 'never'"),
    ]
    for rehome, said in wrong:
        with pytest.raises(ConfigurationError, match=said):
            db.declare_pipeline(orders("price"), rehome=rehome)
    assert everything(db) == before
    assert db.declare_pipeline(orders("price"), rehome={"check": "price"})
    assert not db.declare_pipeline(orders("price"), rehome={"check": "price"})
    assert [one.payload for one in check.find()] == ["dead"]
    moved = {one.id: one for one in db.queue("price").find()}
    assert sorted(moved) == ids
    assert (moved[ids[0]].key, moved[ids[1]].headers, moved[ids[1]].priority) == ("l", {"a": 1}, 3)
    assert [one.receipt.id for one in check.commit_many([leased])] == [leased.message.id]
    carry(db, orders("price"))
    assert payloads(db.queue("price")) == ["later"]


def test_a_table_source_that_looks_again_can_be_removed_and_its_position_is_kept(
    db: Database, clock: MovableClock
) -> None:
    source = TableSource(
        "incoming", to="in", format="jdbc", url="sqlite:///x", table="t", column="id", every=minutes(5)
    )
    before = Pipeline("orders", [source, *orders().stations])
    db.declare_pipeline(before)
    db.queue("incoming").push({"after": 5}, delay=minutes(5))
    assert db.declare_pipeline(orders())
    assert payloads(db.queue("incoming/position")) == [{"after": 5}]
    assert db.queue("incoming").count() == 0
    files = TableSource("files", to="in", format="csv", path="/x", every=minutes(5))
    db.declare_pipeline(Pipeline("orders", [files, *orders().stations]))
    db.queue("files").push({"file": "a.csv", "rows": 0})
    with pytest.raises(ConfigurationError, match="no longer has station 'files', and its queue 'files' still has 1"):
        db.declare_pipeline(orders())
    assert payloads(db.queue("files")) == [{"file": "a.csv", "rows": 0}]


def test_of_two_pipelines_that_are_declared_at_the_same_moment_one_that_reads_a_queue_of_the_other_is_refused(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    metadata, late = db.store.metadata, [Pipeline("rival", [Sink("price", print)])]
    put = metadata.set_pipeline

    def raced(name: str, version: int | None, after: StoredPipeline | None) -> Any:
        while late:
            rival = late.pop().graph
            yield from put(rival.name, None, StoredPipeline(rival.name, graph_text(rival), 1))
        return (yield from put(name, version, after))

    with monkeypatch.context() as patch:
        patch.setattr(metadata, "set_pipeline", raced)
        with pytest.raises(ConfigurationError, match=r"would read queue 'price', and so does .* of pipeline 'rival'"):
            db.declare_pipeline(orders("price"))
    assert not late
    assert [graph.name for graph in db.pipelines()] == ["rival"]
    db.forget_pipeline("rival")
    assert db.declare_pipeline(orders("price"))


def test_the_positions_of_a_table_source_go_to_no_other_station(db: Database) -> None:
    into: dict[str, Any] = {"to": "in", "format": "jdbc", "url": "sqlite:///x", "table": "t", "column": "id"}
    files = TableSource("files", to="in", format="csv", path="/x")
    db.declare_pipeline(Pipeline("orders", [TableSource("old", **into), files, *orders().stations]))
    db.queue("old/position").push({"after": 5})
    db.queue("files").push({"file": "a.csv", "rows": 0})
    renamed = Pipeline("orders", [TableSource("new", **into), *orders().stations])
    for rehome in ({"old": "new"}, {"old": "new", "files": "new"}, {"files": "in"}):
        with pytest.raises(ConfigurationError, match="another station would read everything again; keep the name"):
            db.declare_pipeline(renamed, rehome=rehome)
    with pytest.raises(ConfigurationError, match=r"'files' still has 1 message .* positions of a source cannot be reh"):
        db.declare_pipeline(renamed)
    assert payloads(db.queue("old/position")) == [{"after": 5}]
    assert payloads(db.queue("files")) == [{"file": "a.csv", "rows": 0}]
    assert not db.queue("new").count()


def test_messages_that_cannot_go_where_they_should_keep_the_old_definition(db: Database) -> None:
    db.declare_pipeline(orders("check"))
    db.queue("check").push(1, key="k")
    db.queue("end").push(2, key="k")
    with pytest.raises(ConfigurationError, match="of 'check' cannot be rehomed: queue 'end' has a live message"):
        db.declare_pipeline(orders(), rehome={"check": "end"})
    db.queue("check").reschedule(key="k", due=None)
    with pytest.raises(ConfigurationError, match="'check' has 1 stopped message"):
        db.declare_pipeline(orders(), rehome={"check": "end"})
    assert [graph.queues for graph in db.pipelines()] == [["in", "check", "end"]]


def test_a_join_with_sets_that_are_not_whole_cannot_be_removed(db: Database) -> None:
    if not db.store.capabilities.transactions:
        return
    join = Join("pair", lambda parts: len(parts), by="payload", count=2, to="end")
    before = Pipeline("orders", [join, Sink("end", same)])
    db.declare_pipeline(before)
    db.queue("pair").push_many([Draft("a"), Draft("b"), Draft("b")])
    carry(db, Pipeline("orders", [join], outputs=["end"]))
    after = orders()
    with pytest.raises(ConfigurationError, match=r"its queue 'pair/sets' still has 1 message under way"):
        db.declare_pipeline(after)
    with pytest.raises(ConfigurationError, match="the sets of a join cannot be rehomed"):
        db.declare_pipeline(after, rehome={"pair/sets": "in"})
    db.queue("pair").push("a")
    carry(db, before)
    assert db.declare_pipeline(after)


def test_a_pipeline_that_another_version_wrote_differently_is_told_by_name(db: Database) -> None:
    db.run(lambda: db.store.metadata.set_pipeline("p", None, StoredPipeline("p", '{"name":5}', 1)))
    with pytest.raises(ConfigurationError, match="pipeline 'p' cannot be read by this version"):
        db.pipelines()


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ('"relay"', '"oracle"', "unknown kind, 'oracle'"),
        ('"outputs":["out"]', '"outputs":[]', "sends to 'out', which is not one of its queues"),
    ],
    ids=["kind", "way"],
)
def test_a_pipeline_that_this_version_cannot_draw_is_refused_until_it_is_forgotten_and_declared_again(
    db: Database, old: str, new: str, why: str
) -> None:
    pipeline = Pipeline("p", [Relay("in", same, to="out")], outputs=["out"])
    db.declare_pipeline(pipeline)
    (kept,) = db.run(lambda: db.store.metadata.pipelines("p"))
    assert old in kept.definition
    other = StoredPipeline("p", kept.definition.replace(old, new), 1)
    assert db.run(lambda: db.store.metadata.set_pipeline("p", kept.version, other))
    with pytest.raises(ConfigurationError, match=why):
        db.pipelines()
    with pytest.raises(ConfigurationError, match="forget"):
        db.declare_pipeline(pipeline)
    assert db.forget_pipeline("p")
    assert db.declare_pipeline(pipeline)
    assert db.pipelines() == [pipeline.graph]
