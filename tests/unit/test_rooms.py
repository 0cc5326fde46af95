"""The rooms of duerow have an order, and imports go down it: those of type checkers too."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import duerow
from tests.unit.source import read

ROOT = Path(duerow.__file__).parent

ROOMS: tuple[tuple[str, ...], ...] = (
    ("phrases",),
    ("errors",),
    ("backoff", "clock", "plan", "signatures"),
    ("message",),
    ("settlement", "retry", "lineage"),
    ("conditions",),
    ("where",),
    ("payload",),
    ("reservation", "encryption"),
    ("store",),
    ("arrow",),
    ("queue",),
    ("worker",),
    ("stores", "entity"),
    ("pipeline", "tasks"),
    ("aio", "sync"),
    ("telemetry", "doctor"),
    ("web",),
    ("plots", "cli", "spark", "testing"),
    ("contrib",),
)
"""From the bottom to the top. Rooms of one row may import each other; what is above imports what is below."""

FRONT_DOORS = {"duerow", "duerow.__main__", "duerow.entity", "duerow.queue", "duerow.web", "duerow.contrib.django"}
"""What shows users names from any room."""

FACES = {"aio", "sync"}

MOST_BASES = 10
"""Those of a queue, each of which is one page of its methods."""

FOUND_BY_NAME = {"Command", "Migration"}
"""Classes that Django finds by their names, so that they cannot have others."""


def module_of(path: Path) -> str:
    parts = ("duerow", *path.relative_to(ROOT).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports_of(path: Path) -> Iterator[str]:
    """Yield what a module imports of duerow, wherever in it."""
    for module, names in read(path).imports:
        if not names:
            yield module
        for name in names:
            whole = f"{module}.{name}"
            yield whole if whole in MODULES else module


MODULES = {module_of(path): path for path in sorted(ROOT.rglob("*.py"))}
ROW = {room: row for row, rooms in enumerate(ROOMS) for room in rooms}


@cache
def imports() -> dict[str, set[str]]:
    """Return what each module imports of the others; not while tests are collected, which every process does."""
    return {name: {one for one in imports_of(path) if one in MODULES and one != name} for name, path in MODULES.items()}


def room_of(module: str) -> str:
    return module.partition(".")[2].partition(".")[0]


def test_every_module_is_in_a_room_that_has_its_place_in_the_order() -> None:
    assert {room_of(name) for name in MODULES if name not in FRONT_DOORS} - set(ROW) == set()


def test_imports_go_down_the_order_of_the_rooms() -> None:
    upwards = [
        (name, other)
        for name, others in imports().items()
        for other in others
        if not {name, other} & FRONT_DOORS and ROW[room_of(other)] > ROW[room_of(name)]
    ]
    assert upwards == []


def test_no_modules_import_each_other_in_a_circle() -> None:
    assert [sorted(circle) for circle in circles_of(imports())] == []


def test_the_faces_do_not_import_each_other() -> None:
    crossing = [(name, other) for name, others in imports().items() for other in others if faces(name, other)]
    assert crossing == []


def test_a_store_imports_neither_rules_of_queues_nor_workers() -> None:
    crossing = [
        (name, other)
        for name, others in imports().items()
        for other in others
        if room_of(name) == "stores" and room_of(other) in {"queue", "worker"}
    ]
    assert crossing == []


def test_a_circle_and_an_import_that_goes_up_would_be_noticed() -> None:
    assert circles_of({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}) == [{"a", "b", "c"}]
    assert circles_of({"a": {"b"}, "b": {"c"}, "c": set()}) == []
    assert ROW["store"] < ROW["queue"] < ROW["pipeline"] < ROW["aio"]


def faces(name: str, other: str) -> bool:
    return name not in FRONT_DOORS and {room_of(name), room_of(other)} == FACES if other not in FRONT_DOORS else False


def circles_of(imports: dict[str, set[str]]) -> list[set[str]]:
    """Return the sets of modules each of which leads to all others of its set."""
    reached: dict[str, set[str]] = defaultdict(set)
    for name in imports:
        todo = [name]
        while todo:
            for other in imports[todo.pop()]:
                if other not in reached[name]:
                    reached[name].add(other)
                    todo.append(other)
    found: list[set[str]] = []
    for name in imports:
        circle = {other for other in reached[name] if name in reached[other]}
        if circle and circle not in found:
            found.append(circle)
    return found


def test_no_two_classes_have_the_same_name_but_twins_of_the_two_faces() -> None:
    found: dict[str, set[str]] = defaultdict(set)
    for module, name, _ in classes():
        if module not in FRONT_DOORS and room_of(module) != "testing" and name not in FOUND_BY_NAME:
            found[name].add(face_apart(module))
    assert {name: sorted(modules) for name, modules in found.items() if len(modules) > 1} == {}


def test_no_class_is_made_of_more_bases_than_a_reader_holds_in_mind() -> None:
    assert [(module, name) for module, name, bases in classes() if bases > MOST_BASES] == []


@cache
def classes() -> list[tuple[str, str, int]]:
    """Return the public classes of each module: their modules, names, and numbers of bases."""
    return [(module, name, bases) for module, path in MODULES.items() for name, bases in read(path).classes]


def face_apart(module: str) -> str:
    """Return the name of a module without its face: that of a twin is the same."""
    alike = module.replace("worker_threads", "worker_tasks")
    return ".".join("face" if part in FACES else part for part in alike.split("."))
