"""Simulations break no promise, repeat by their seeds, notice mistakes, and shrink to programs that fail alike."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.mutations.seeds import STORES, Mutation
from tests.simulation.broken import broken
from tests.simulation.known import BrokenPromise
from tests.simulation.places import MemoryConnection
from tests.simulation.script import Commit as Done
from tests.simulation.script import Crash, Push, Reserve, Script, Settle, Sleep, program
from tests.simulation.shrink import broken_by, shrunk
from tests.simulation.world import OTHER_ERRORS, play, simulate

ROOT = Path(__file__).parents[2]

INTERLEAVINGS = {"memory": 500, "sqlite": 50}
"""How many the quick test tries on each store."""

LONG = int(os.environ.get("DUEROW_SOAK_INTERLEAVINGS", "500000"))
"""How many the long test tries on the memory store; on SQLite a tenth."""

FOUND_WITHIN = 60
"""Interleavings within which each of these mistakes is found."""

MISTAKES = {
    "memory": (
        "the token of a turn is not tested",
        "of a group nobody waits for those before it",
        "attempts are not counted",
        "a turn that ends leaves its lease on the message",
        "a message that begins anew keeps its attempts",
        "a pop leaves the message in the queue",
    ),
    "sqlite": (
        "the token of a turn is not tested",
        "attempts are not counted",
        "a turn that ends leaves its lease on the message",
        "a queue of which something was said takes no messages",
    ),
}


def mistake(place: str, says: str) -> Mutation:
    """Return a mutation by its words."""
    (found,) = (one for one in STORES[place] if one.says == says)
    return found


def first_failure(place: str, within: int = FOUND_WITHIN) -> tuple[Script, BrokenPromise] | None:
    for seed in range(within):
        script, failed = simulate(place, seed)
        if failed is not None:
            return script, failed
    return None


def check(place: str, first: int, interleavings: int) -> None:
    for seed in range(first, first + interleavings):
        script, failed = simulate(place, seed)
        if failed is not None:
            pytest.fail(f"{place}, seed {seed}: {failed}\n{program(shrunk(script, failed.rule), failed.rule)}")


@pytest.mark.parametrize("place", INTERLEAVINGS)
def test_no_interleaving_breaks_a_promise(place):
    check(place, 0, INTERLEAVINGS[place])


@pytest.mark.soak
@pytest.mark.timeout(14_400)
@pytest.mark.parametrize("place", INTERLEAVINGS)
def test_no_interleaving_of_very_many_breaks_a_promise(place):
    seed = int(os.environ.get("DUEROW_SOAK_SEED", "1"))
    print(f"from seed {seed}")
    check(place, seed, LONG if place == "memory" else LONG // 10)


@pytest.mark.parametrize("place", INTERLEAVINGS)
def test_the_same_seed_tells_the_same_story(place):
    stories: list[list[str]] = [[], []]
    scripts = [[simulate(place, seed, story.append)[0] for seed in range(20)] for story in stories]
    assert scripts[0] == scripts[1]
    assert stories[0] == stories[1]
    assert len(stories[0]) > 100


def test_a_script_tells_the_story_of_the_seed_that_made_it():
    for seed in range(20):
        told, again = list[str](), list[str]()
        script, _ = simulate("memory", seed, told.append)
        play(script, again.append)
        assert again == told


def test_different_seeds_make_different_scripts():
    assert len({simulate("memory", seed)[0] for seed in range(20)}) == 20


@pytest.mark.parametrize(
    ("place", "says"),
    [pytest.param(place, one, id=f"{place}: {one}") for place, some in MISTAKES.items() for one in some],
)
def test_a_mistake_in_a_store_is_found(place, says):
    with broken(mistake(place, says)):
        failure = first_failure(place)
    assert failure is not None
    assert failure[1].rule != OTHER_ERRORS  # a promise was broken, not just the store
    assert first_failure(place, 5) is None


def test_a_failing_seed_shrinks_to_a_short_program_that_fails_in_the_same_way():
    with broken(mistake("memory", "the token of a turn is not tested")):
        failure = first_failure("memory")
        assert failure is not None
        script, failed = failure
        short = shrunk(script, failed.rule)
        assert broken_by(short) == failed.rule
        assert short.size <= 16 < script.size
        with pytest.raises(BrokenPromise) as again:
            exec(program(short, failed.rule), {})
        assert again.value.rule == failed.rule
    exec(program(short), {})


def test_a_short_program_runs_by_itself(tmp_path):
    script = Script("memory", ((Push("mail"),), (Reserve("mail"), Settle((Done(),)))), (0, Sleep(1.0), 1, Crash(1)))
    (tmp_path / "story.py").write_text(program(script))
    told = subprocess.run(
        [sys.executable, tmp_path / "story.py"],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])},
    )
    assert "actor 1: Reserve('mail') -> [1@1] buried []" in told.stdout
    assert "Crash(1)" in told.stdout


def test_actors_that_wait_for_each_other_for_ever_are_noticed(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(MemoryConnection, "blocked", lambda connection, step: True)
    with pytest.raises(BrokenPromise, match=r"somebody can always go on: \[0, 1\] wait for each other"):
        play(Script("memory", ((Push("mail"),), (Push("mail"),))))
