"""Each promise that is tried on one face is tried on exactly one, and either face gets its share."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests import sizes
from tests.copies.conftest import PAIRS as BETWEEN
from tests.sizes import (
    EXAMPLES,
    FACES,
    by_other_workers,
    in_other_ways,
    is_of_other_pair,
    is_on_another_database,
    is_other_face,
    is_spared,
    on_other_databases,
)


def item(name: str, id: str, *fixtures: str, path: str = "test_it.py", place: int = 0) -> Any:
    given = SimpleNamespace(id=id, indices={"face": place, "begin": place})
    return SimpleNamespace(originalname=name, callspec=given, fixturenames=["face", *fixtures], path=Path(path))


def test_a_name_picks_one_face_and_names_together_pick_both() -> None:
    left = {face: [is_other_face(item(f"test_{n}", f"{face}-edit")) for n in range(200)] for face in ("sync", "async")}
    assert all(one != other for one, other in zip(left["sync"], left["async"], strict=True))
    assert 60 < sum(left["sync"]) < 140


def test_between_sqlite_and_another_database_a_promise_is_tried_on_both_faces() -> None:
    for n in range(20):
        left = [is_other_face(item(f"test_{n}", f"async-{family}")) for family in ("sqlite", "postgresql", "mariadb")]
        assert left == [not left[1], left[1], left[1]]


def test_what_has_no_face_or_a_way_that_suits_one_alone_is_always_tried() -> None:
    for n in range(20):
        assert not is_other_face(item(f"test_{n}", "edit"))
        assert not is_other_face(item(f"test_{n}", "async-asyncmy", "begin"))


def test_of_two_databases_a_name_leaves_one_to_the_long_tests_and_what_is_on_one_alone_is_always_tried() -> None:
    both = [item(f"test_{n}", f"{database}-edit") for n in range(200) for database in ("sqlite", "postgresql")]
    left = on_other_databases([*both, item("test_single", "sqlite"), item("test_single", "mariadb")])
    assert sorted(one.originalname for one in left) == sorted(f"test_{n}" for n in range(200))
    assert 60 < sum("sqlite" in one.callspec.id for one in left) < 140


def test_if_each_face_is_on_a_database_of_its_own_one_of_them_is_left_to_the_long_tests() -> None:
    left = [
        on_other_databases([item(f"test_{n}", "sync-sqlite-edit"), item(f"test_{n}", "async-postgresql-edit")])
        for n in range(200)
    ]
    assert all(len(one) == 1 for one in left)
    assert 60 < sum("sqlite" in one.callspec.id for (one,) in left) < 140


def test_each_example_of_a_promise_is_tried_on_one_of_the_databases_and_in_memory() -> None:
    def on(family: str, id: str) -> bool:
        return not is_on_another_database(item("test_one", id, path=f"stores/{family}/test_conformance.py"))

    examples = [f"sync-example {n}" for n in range(60)]
    tried = {family: {id for id in examples if on(family, id)} for family in EXAMPLES["sqlite"]}
    assert sum(len(ids) for ids in tried.values()) == len(set().union(*tried.values())) == len(examples)
    assert all(len(ids) > 5 for ids in tried.values())
    assert all(on("memory", id) for id in examples)
    assert all(on(family, "sync") for family in tried)


def test_each_example_of_a_test_of_a_users_rows_is_tried_on_one_database_and_each_database_has_one() -> None:
    tests = [
        item(f"test_{n}", f"sync-{family}-{how}", path="entity/test_queues.py")
        for n in range(20)
        for family in EXAMPLES["entity"]
        for how in ("one", "many")
    ]
    left = in_other_ways(tests)
    kept = [one for one in tests if one not in left]
    assert {(one.originalname, one.callspec.id.split("-")[1]) for one in kept} == {
        (f"test_{n}", family) for n in range(20) for family in EXAMPLES["entity"]
    }
    assert len(kept) == 60


def test_one_kind_of_worker_is_tried_in_memory_and_the_other_one_on_a_database() -> None:
    def kept(*stores: str, examples: int = 1) -> set[str]:
        tests = [
            item(f"test_{n}", f"{face}-{store}-{example}", path="workers/test_it.py")
            for n in range(50)
            for face in ("sync", "async")
            for store in stores
            for example in range(examples)
        ]
        left = by_other_workers(tests)
        return {f"{one.originalname}-{one.callspec.id}" for one in tests if one not in left}

    assert len(kept("sqlite")) == len(kept("memory", "sqlite")) == 100
    both = kept("memory", "sqlite", examples=6)
    on_sqlite = [one.partition("-")[0] for one in both if "-sqlite-" in one]
    assert {*on_sqlite} == {f"test_{n}" for n in range(50)}
    assert 50 <= len(on_sqlite) < 200
    for n in range(50):
        for example in range(6):
            in_memory = [face for face in FACES if f"test_{n}-{face}-memory-{example}" in both]
            assert len(in_memory) == 1
            assert f"test_{n}-{in_memory[0]}-sqlite-{example}" not in both


def test_whatever_a_name_picks_each_promise_is_tried_in_one_way_at_least() -> None:
    ways = ["sync-raw", "sync-session"]
    tests = [item(f"test_{n}", way, "begin", place=place) for n in range(50) for place, way in enumerate(ways)]
    left = in_other_ways(tests)
    assert len(left) > 20
    assert {one.originalname for one in tests if one not in left} == {f"test_{n}" for n in range(50)}


def test_each_way_to_hold_a_transaction_is_tried_with_a_quarter_of_the_promises() -> None:
    tests = [item(f"test_{n}", f"sync-way {place}", "begin", place=place) for n in range(60) for place in range(12)]
    left = in_other_ways(tests)
    kept = [one for one in tests if one not in left]
    assert len(kept) == 60 * 3
    assert {one.callspec.id for one in kept} == {f"sync-way {place}" for place in range(12)}


def test_a_promise_about_copies_is_tried_from_each_family_to_each_by_either_face() -> None:
    for n in range(20):
        cases = [
            SimpleNamespace(
                originalname=f"test_{n}",
                callspec=SimpleNamespace(params={"pair": pair}),
                path=Path("copies/test_it.py"),
            )
            for pair in BETWEEN
        ]
        sources, targets, faces = zip(
            *(case.callspec.params["pair"] for case in cases if not is_of_other_pair(case)),  # type: ignore[arg-type]
            strict=True,
        )
        assert set(sources) == set(targets) == {"memory", "sqlite", "postgresql", "mongodb"}
        assert set(faces) == {"sync", "async"}
        assert len(sources) == 6


def test_behind_http_a_share_of_the_promises_is_tried() -> None:
    assert 12 < sum(not is_spared(Path("http/test_conformance.py"), f"test_{n}") for n in range(300)) < 50
    assert not is_spared(Path("http/test_client.py"), "test_1")
    assert not is_spared(Path("memory/test_conformance.py"), "test_1")


@pytest.mark.parametrize(("asked_for", "kept", "marked"), [("not soak", 0, False), ("soak", 1, True), ("", 1, True)])
def test_what_is_left_to_the_long_tests_is_collected_only_where_they_may_be_asked_for(
    asked_for: str, kept: int, marked: bool, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sizes, "left_to_soak", set)
    collector: Any = SimpleNamespace(config=SimpleNamespace(option=SimpleNamespace(markexpr=asked_for)))
    making = sizes.pytest_pycollect_makeitem(collector)
    next(making)
    with pytest.raises(StopIteration) as made:
        making.send([request.node])
    assert len(made.value.value) == kept
    assert (request.node.get_closest_marker("soak") is not None) == marked
