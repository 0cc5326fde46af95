"""The columns of a frame station are stored with its pipeline; a change that messages may not fit is refused."""

from __future__ import annotations

import logging
from dataclasses import make_dataclass
from typing import Any

import pytest
from msgspec.structs import replace

import duerow
from duerow import Frame, Graph, Pipeline
from duerow.errors import ConfigurationError
from duerow.pipeline.columns import column_changes
from duerow.pipeline.graph import graph_text, read_graph

Sale = make_dataclass("Sale", [("n", int)])
Order = make_dataclass("Order", [("n", int)])


def same(frame: Any) -> Any:
    return frame


def older(payload: Any) -> Any:
    return payload


def pipeline(**terms: Any) -> Pipeline:
    terms = terms or {"schema": "n int"}
    return Pipeline("p", [Frame("a", same, "b", **terms)], outputs=["b"])


def graph(columns: dict[str, str] | None, **terms: Any) -> Graph:
    """The graph as a program with Spark stores it."""
    found = pipeline(**terms).graph
    return replace(found, stations=(replace(found.stations[0], columns=columns),))


def changes(before: dict[str, str], after: dict[str, str], then: Any = None, **terms: Any) -> list[tuple[str, bool]]:
    found = column_changes(graph(before, **(then or terms)), graph(after, **terms), pipeline(**terms).stations)
    return [(str(one), one.fits) for one in found]


WIDER = [
    ("tinyint", "smallint"),
    ("smallint", "float"),
    ("int", "bigint"),
    ("int", "double"),
    ("int", "decimal(10,0)"),
    ("bigint", "decimal(38,18)"),
    ("float", "double"),
    ("decimal(12,2)", "decimal(38,18)"),
    ("date", "timestamp"),
    ("date", "timestamp_ntz"),
]
OTHER = [
    ("bigint", "double"),  # which has no 2^53 + 1
    ("int", "float"),
    ("int", "decimal(11,2)"),
    ("bigint", "string"),
    ("decimal(38,18)", "decimal(38,17)"),
    ("timestamp", "timestamp_ntz"),
    ("string", "binary"),
]


def test_a_column_that_holds_all_it_held_may_change_its_type_and_no_other() -> None:
    for narrow, wide in WIDER:
        assert changes({"n": narrow}, {"n": wide}) == [(f"n was {narrow} and is now {wide}", True)]
        assert changes({"n": wide}, {"n": narrow}) == [(f"n was {wide} and is now {narrow}", False)]
    for one, other in OTHER:
        assert changes({"n": one}, {"n": other}) == [(f"n was {one} and is now {other}", False)]


def test_a_declared_type_reads_no_date_as_a_time() -> None:
    assert changes({"d": "date"}, {"d": "timestamp"}, payload=Sale) == [("d was date and is now timestamp", False)]


def test_a_column_may_be_added_unless_messages_must_have_it_and_none_may_go() -> None:
    before, after = {"n": "int"}, {"n": "int", "m": "int"}
    assert changes(before, before) == []
    assert changes(before, after) == [("m (int) is new", True)]
    assert changes(before, {**before, "m": "int not null"}, payload=Sale) == [("m (int not null) is new", True)]
    assert changes(before, {**before, "m": "int required"}, payload=Sale) == [("m (int required) is new", False)]
    assert changes(after, before) == [("m (int) is gone", False)]


def test_a_field_may_be_missing_or_null_where_it_might_not_but_not_the_other_way() -> None:
    strict, loose = {"n": "bigint not null required"}, {"n": "bigint"}
    assert [fits for _, fits in changes(strict, loose, payload=Sale)] == [True]
    assert [fits for _, fits in changes(loose, strict, payload=Sale)] == [False]


def test_fields_within_a_column_count_by_their_paths_and_go_with_it() -> None:
    before = {"lines": "array", "lines[]": "struct", "lines[].price": "int", "linesmen": "string"}
    wider = {**before, "lines[].price": "bigint"}
    assert changes(before, wider) == [("lines[].price was int and is now bigint", True)]
    assert changes(before, {"lines": "map", "lines[…]": "int", "linesmen": "string"}) == [
        ("lines was array and is now map", False)
    ]
    assert changes({"n": "int"}, {"n": "int", "of": "struct not null", "of.n": "int not null required"}) == [
        ("of (struct not null) is new", True)
    ]


def test_an_upgrade_of_the_type_takes_any_change_and_a_type_of_another_name_is_not_compared() -> None:
    before, after = {"n": "int"}, {"n": "string"}
    assert {fits for _, fits in changes(before, after, payload=Sale)} == {False}
    for takes in ("Sale", Sale):
        assert {fits for _, fits in changes(before, after, payload=Sale, upgrades={takes: older})} == {True}
    assert {fits for _, fits in changes(before, after, payload=Sale, upgrades={"Other": older})} == {False}
    assert changes(before, after, {"payload": Order}, payload=Sale) == []
    undeclared = {"schema": "n int"}
    assert {fits for _, fits in changes(before, after, undeclared, payload=Sale, upgrades={"json": older})} == {True}


def test_text_has_any_structure() -> None:
    assert changes({}, {"n": "int"}) == changes({"n": "int"}, {}) == []


def test_columns_are_stored_and_a_program_without_spark_keeps_them() -> None:
    known = graph({"n": "int"})
    assert read_graph("p", graph_text(known)) == known
    with duerow.connect("memory://") as db:
        assert db._declare(pipeline(), known)
        assert not db.declare_pipeline(pipeline())
        assert db.pipelines() == [known]


def test_a_change_that_waiting_messages_may_not_fit_is_refused_by_name_unless_it_is_accepted(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO, "duerow.pipeline")
    with duerow.connect("memory://") as db:
        db._declare(pipeline(), graph({"n": "bigint", "m": "string"}))
        narrow = graph({"n": "int", "k": "string"})
        db.queue("a").push({"n": 1})
        with pytest.raises(ConfigurationError) as caught:
            db._declare(pipeline(), narrow)
        said = str(caught.value)
        assert "pipeline 'p': the columns of frame 'a' have changed, and 1 message under way" in said
        assert "may not fit: m (string) is gone; n was bigint and is now int. " in said
        assert "Register an upgrade" in said
        assert said.endswith("or accept the change with new_columns=['a']")
        assert db.pipelines() == [graph({"n": "bigint", "m": "string"})]
        assert caplog.messages == []

        assert db._declare(pipeline(), narrow, None, {"a"})
        assert db.pipelines() == [narrow]
        assert caplog.messages == [
            f"frame 'a' of pipeline 'p': column {one}"
            for one in ("k (string) is new", "m (string) is gone", "n was bigint and is now int")
        ]


def test_no_change_is_refused_while_no_message_waits() -> None:
    with duerow.connect("memory://") as db:
        db._declare(pipeline(), graph({"n": "bigint"}))
        db.queue("a").push("dead")
        db.queue("a").bury(*db.queue("a").reserve_many(1), "no use")
        assert db._declare(pipeline(), graph({"n": "int"}))
