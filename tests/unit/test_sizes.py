"""Each promise that is tried on one face is tried on exactly one, and either face gets its share."""

from types import SimpleNamespace
from typing import Any

from tests.sizes import is_other_face


def item(name: str, id: str, *fixtures: str) -> Any:
    return SimpleNamespace(originalname=name, callspec=SimpleNamespace(id=id), fixturenames=["face", *fixtures])


def test_a_name_picks_one_face_and_names_together_pick_both() -> None:
    left = {face: [is_other_face(item(f"test_{n}", f"{face}-edit")) for n in range(200)] for face in ("sync", "async")}
    assert all(one != other for one, other in zip(left["sync"], left["async"], strict=True))
    assert 60 < sum(left["sync"]) < 140


def test_what_has_no_face_or_a_way_that_suits_one_alone_is_always_tried() -> None:
    for n in range(20):
        assert not is_other_face(SimpleNamespace(originalname=f"test_{n}", fixturenames=[]))  # type: ignore[arg-type]
        assert not is_other_face(item(f"test_{n}", "async-asyncmy", "begin"))
