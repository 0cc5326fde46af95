"""Change the decisions, the plans or the worker in every small way that mutmut knows: python -m tests.mutations.mutants

    python -m tests.mutations.mutants settlement
    python -m tests.mutations.mutants plans settle claim --jobs 1
    python -m tests.mutations.mutants plans settle claim --again

Where `tests.mutations` tries mistakes that somebody thought of, this tries those that nobody chose. mutmut works in a
folder of its own below `.cache/mutants`, never in the tree itself, and goes on there where it was stopped. It lets
survivors stand when tests are added, hence `--again`.
"""

import argparse
import json
import os
import re
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src"
PACKAGE = SOURCE / "duerow"
FOLDER = ROOT / ".cache" / "mutants"

SLOW = (
    "whatever_is_given",
    "event_loop",
    "as_many_as_there_are",
    "does_what_the_reference_does",
    "any_encrypted_payload",
    "any_payload",
    "permits_are_kept_for_as_long",
    "runs_for_longer_than_a_lease",
    "blocks_its_thread",
    "where_the_handler_of_a_message_is",
    "learn_soon_that_their_messages",
    "find_the_same_with_indexes",
    "large",
    "process",
    "a_declared_value_comes_back",
    "headers_come_back",
    "waits_behind_a_handler",
    "deletes_what_others_have_left",
    "leases_of_all_queues",
    "for_longer_than_it_may",
    "without_a_limit",
    "every_number",
    "rows_of_long_ago",
)
"""Parts of the names of tests that are left out: they start processes, or take as long as a hundred others."""

QUICK = f"(unit or (not {' and not '.join(SLOW)}))"
"""What pytest selects; unit tests are quick, whatever their names say."""


@dataclass(frozen=True)
class Part:
    """What is changed together.

    Attributes:
        files: patterns of files below src/duerow.
        tests: what pytest runs.
    """

    files: tuple[str, ...]
    tests: tuple[str, ...]


MEMORY, SQLITE = (f"tests/stores/{store}/test_conformance.py" for store in ("memory", "sqlite"))

OF_SETTLEMENT = ("tests/unit/test_settlement.py", "tests/unit/test_settlement_verbs.py", MEMORY)
OF_WORKERS = f"(worker or handler) and not postgresql and not sqlite and not signal and not test_stacks and {QUICK}"
"""The stacks that `test_stacks` reads include mutmut's wrappers."""

PARTS = {
    "settlement": Part(("settlement.py",), (*OF_SETTLEMENT, "-k", QUICK)),
    "plans": Part(("stores/sql/plans/*.py",), ("tests/unit/stores/sql", SQLITE, "-k", QUICK)),
    "worker": Part(("worker/*.py", "aio/worker*.py"), ("tests/unit/worker", "tests/workers", MEMORY, "-k", OF_WORKERS)),
}

CHECK = ROOT / "tests/mutations/check_types.py"
"""Checks the types of all mutants in one go."""

SUPERFLUOUS = re.compile(r"^(enable_error_code|warn_unreachable) .*\n", re.MULTILINE)
"""Settings of mypy that only find what is superfluous, which is no mistake."""

NOTICED = ("killed", "caught by type check")

ORDER = (*NOTICED, "timeout", "survived", "no tests", "suspicious", "not checked")


def main() -> int:
    """Run the command line; the exit code is mutmut's."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutations.mutants", description=__doc__.splitlines()[0])
    parser.add_argument("part", choices=PARTS)
    parser.add_argument("modules", nargs="*", help="of the part, such as settle or claim; default: all")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="how many mutants at a time")
    parser.add_argument("--seconds", type=float, default=10.0, help="how long the tests of one mutant take at most")
    parser.add_argument("--again", action="store_true", help="try again what earlier runs left alive")
    parser.add_argument("--show", action="store_true", help="run nothing; show what earlier runs left alive")
    chosen = parser.parse_args()
    folder = FOLDER / chosen.part
    ended = 0
    if not chosen.show:
        prepare(folder, PARTS[chosen.part])
        ended = subprocess.run([sys.executable, "-m", "tests.mutations.generate"], cwd=folder, check=False).returncode
        if ended == 0:
            ended = subprocess.run(
                trial(PARTS[chosen.part], chosen), cwd=folder / "mutants", env=environment(folder), check=False
            ).returncode
    print(table(results(folder)))
    return ended


def trial(part: Part, chosen: argparse.Namespace) -> list[str]:
    """Return the command that tries mutants."""
    return [
        *(sys.executable, "-m", "pytest", "--rootdir=.", "-q", "-p", "no:cacheprovider", "-p", "tests.mutations.trial"),
        *("--tb=native", "-o", "timeout=10", f"--trial-jobs={chosen.jobs}", f"--trial-seconds={chosen.seconds}"),
        *(f"--trial-modules={','.join(chosen.modules)}", *(["--trial-again"] if chosen.again else [])),
        *part.tests,
    ]


def environment(folder: Path) -> dict[str, str]:
    """Return the environment in which mutants are tried: their copy of the code is imported."""
    path = os.pathsep.join([str(folder / "mutants/src"), str(folder / "mutants")])
    return {
        **os.environ,
        "PYTHONPATH": path,
        "MUTANT_UNDER_TEST": "",
        "CI": "1",
    }  # CI: Hypothesis tries the same examples


def prepare(folder: Path, part: Part) -> None:
    """Make the folder in which mutmut works: links to what it copies, and its configuration."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("src", "tests", "docs", "examples", "README.md"):
        link = folder / name
        if not link.is_symlink():
            link.symlink_to(ROOT / name)
    files = sorted(f"src/{path.relative_to(SOURCE)}" for pattern in part.files for path in PACKAGE.glob(pattern))
    settings = {
        "source_paths": ["src"],
        "only_mutate": files,
        "also_copy": ["README.md"],
        "type_check_command": [sys.executable, str(CHECK), "mypy", f"--cache-dir={folder / 'mypy'}", *files],
    }
    lines = [f"{name} = {json.dumps(value)}" for name, value in settings.items()]
    own = SUPERFLUOUS.sub("", (ROOT / "pyproject.toml").read_text())
    (folder / "pyproject.toml").write_text("\n".join([own, "[tool.mutmut]", *lines, ""]))


def results(folder: Path) -> dict[str, dict[str, str]]:
    """Return how each mutant of each module ended."""
    from mutmut.stats import status_by_exit_code

    return {
        str(path.relative_to(folder / "mutants/src/duerow")).removesuffix(".py.meta"): {
            name: status_by_exit_code[code] for name, code in json.loads(path.read_text())["exit_code_by_key"].items()
        }
        for path in sorted((folder / "mutants/src").rglob("*.py.meta"))
    }


def table(modules: dict[str, dict[str, str]]) -> str:
    """Return the numbers of each module as a table in Markdown, and the names of those that lived."""
    lines = [f"| module | mutants | {' | '.join(ORDER)} |", "|---" * (len(ORDER) + 2) + "|"]
    for module, mutants in modules.items():
        ends = Counter(mutants.values())
        lines.append(f"| `{module}` | {len(mutants)} | {' | '.join(str(ends[end]) for end in ORDER)} |")
    names = [f"{mutants[name]}: {name}" for mutants in modules.values() for name in alive({"": mutants})]
    return "\n".join([*lines, "", *names])


def alive(modules: dict[str, dict[str, str]]) -> list[str]:
    """Return the names of mutants that no test noticed, or that were not tried."""
    return [name for mutants in modules.values() for name, end in mutants.items() if end not in NOTICED]


if __name__ == "__main__":
    sys.exit(main())
