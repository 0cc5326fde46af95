"""Each promise that is tried on one face is tried on exactly one, and either face gets its share."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

from tests.sizes import in_other_ways, is_other_face, on_other_databases


def item(name: str, id: str, *fixtures: str) -> Any:
    return SimpleNamespace(
        originalname=name, callspec=SimpleNamespace(id=id), fixturenames=["face", *fixtures], path=Path("test_it.py")
    )


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


def test_whatever_a_name_picks_each_promise_is_tried_in_one_way_at_least() -> None:
    ways = ["sync-raw", "sync-session"]
    tests = [item(f"test_{n}", way, "begin") for n in range(50) for way in ways]
    left = in_other_ways(tests)
    assert len(left) > 20
    assert {one.originalname for one in tests if one not in left} == {f"test_{n}" for n in range(50)}
