"""Measure this checkout beside an earlier commit: `python -m bench.versions COMMIT`.

Both run on the same server, each in a process of its own with its own database, and take turns at every step, so that
whatever else happens on the machine or in the server meets both alike. What is measured are queues that use nothing but
pushes, claims and settlements, so that a feature added since then shows what it costs those who do not use it. The
figures are medians over the rounds of the time per message, and the median of the ratios of each round's two turns.
"""

from __future__ import annotations

import argparse
import itertools
import os
import statistics
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

ROOT = Path(__file__).parent.parent
BATCH = 1_000
LARGE = 10_000
MOST = 1.03
"""How much longer a message may take than at the earlier commit."""

STEPS: dict[str, tuple[str, str]] = {
    "singly": ("push, one transaction each", "reserve and commit, one transaction each"),
    "batches": ("push in batches", "reserve and commit in batches"),
    "keys": (f"push in batches of {LARGE:,} with keys", "reserve and commit in batches, with keys"),
    "worker": ("push for the worker", "worker in batches"),
    "singly-worker": ("push for the worker of single messages", "worker, one transaction each"),
    "spark": ("push for Spark", "relay on Spark"),
}
"""What both do in each round, by the names that `--only` takes."""

ON_SPARK = "spark"
"""What is done only if it is named, and only on PostgreSQL, each with a Spark session of its own."""

UNMEASURED = ("push for the worker", "push for the worker of single messages", "push for Spark")
"""What was measured under another name."""

WARMING = 2
"""Rounds that are not measured: connections are opened and statements prepared."""


def main() -> int:
    """Measure both in turns and print the table; return 1 if something takes longer than it may."""
    wanted = _arguments()
    if wanted.child:
        serve(wanted.child, wanted.messages)
        return 0
    from bench.databases import postgresql

    samples: dict[str, dict[str, list[float]]] = {}
    with earlier(wanted.commit) as then, postgresql() as server, tempfile.TemporaryDirectory() as folder:
        sources = {"then": then / "src", "now": ROOT / "src"}
        urls = {
            "PostgreSQL": {which: server.database(f"versions_{which}") for which in sources},
            "SQLite": {which: f"sqlite:///{folder}/{which}.db" for which in sources},
        }
        for family, url in urls.items():
            kinds = [kind for kind in wanted.only if kind != ON_SPARK or family == "PostgreSQL"]
            steps = [step for kind in kinds for step in STEPS[kind]]
            with ExitStack() as stack:
                asked = {
                    which: stack.enter_context(process(source, url[which], wanted.messages))
                    for which, source in sources.items()
                }
                for turn in range(-WARMING, wanted.rounds):
                    order = sorted(sources, reverse=turn % 2 == 1)
                    for step in steps:
                        for which in order:
                            seconds = asked[which](step)
                            if turn >= 0 and step not in UNMEASURED:
                                samples.setdefault(f"{family}: {step}", {}).setdefault(which, []).append(seconds)
    return show(samples, wanted.commit)


def serve(url: str, count: int) -> None:
    """Carry out the steps whose names come in on standard input; print the microseconds per message of each."""
    import duerow

    db = duerow.connect(url, migrate=True)
    queue = db.queue("versions")
    payload = {"n": 1, "text": "x" * 70}
    single = max(1, count // 10)

    def push_singly() -> None:
        for _ in range(single):
            queue.push(payload)

    def settle_singly() -> None:
        while (reservation := queue.reserve()) is not None:
            queue.commit(reservation)

    def push_many() -> None:
        for _ in range(0, count, BATCH):
            queue.push_many([duerow.Draft(payload) for _ in range(BATCH)])

    keys = itertools.count()

    def push_keyed() -> None:
        for start in range(0, count, LARGE):
            drafts = range(start, min(start + LARGE, count))
            queue.push_many([duerow.Draft(payload, key=f"order {next(keys)}") for _ in drafts])

    def settle_many() -> None:
        while reservations := queue.reserve_many(BATCH):
            queue.commit_many(reservations)

    def work(batch: int = BATCH) -> None:
        duerow.Worker(queue, lambda message: None, batch=batch, concurrency=1).run(until="idle")

    def push_for_spark() -> None:
        done = db.queue("versions-out")
        while reservations := done.reserve_many(BATCH):
            done.commit_many(reservations)
        push_many()

    def relay_on_spark() -> None:
        from duerow.spark import run, session

        relay = duerow.Relay("versions", lambda message: message.payload, to="versions-out")
        pipeline = duerow.Pipeline("versions", [relay], outputs=["versions-out"])
        run(pipeline, url, spark=session(cores=2), until="idle")

    done: list[tuple[Callable[[], None], int]] = [
        (push_singly, single),
        (settle_singly, single),
        (push_many, count),
        (settle_many, count),
        (push_keyed, count),
        (settle_many, count),
        (push_many, count),
        (work, count),
        (push_singly, single),
        (partial(work, 1), single),
        (push_for_spark, count),
        (relay_on_spark, count),
    ]
    steps = dict(zip(itertools.chain.from_iterable(STEPS.values()), done, strict=True))
    for line in sys.stdin:
        step, messages = steps[line.strip()]
        start = time.perf_counter()
        step()
        print((time.perf_counter() - start) / messages * 1e6, flush=True)


@contextmanager
def process(source: Path, url: str, count: int) -> Iterator[Callable[[str], float]]:
    """A process that finds duerow below a folder of sources; yields what has it carry out a step."""
    command = [sys.executable, str(Path(__file__)), "--child", url, "--messages", str(count)]
    env = {**os.environ, "PYTHONPATH": str(source)}
    with subprocess.Popen(command, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        said, heard = child.stdin, child.stdout

        def ask(step: str) -> float:
            print(step, file=said, flush=True)
            return float(heard.readline())

        yield ask
        said.close()


@contextmanager
def earlier(commit: str) -> Iterator[Path]:
    """A checkout of a commit beside this one."""
    from tests.entry_points import install

    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "then"
        subprocess.run(["git", "worktree", "add", "--detach", str(place), commit], cwd=ROOT, check=True)
        try:
            # Its stores may have other names than those of the installed version.
            install(place / "src", tomllib.loads((place / "pyproject.toml").read_text())["project"])
            yield place
        finally:
            subprocess.run(["git", "worktree", "remove", "--force", str(place)], cwd=ROOT, check=True)


def show(samples: dict[str, dict[str, list[float]]], commit: str) -> int:
    """Print the medians and their ratios; return 1 if one is above what it may be."""
    table = Table("µs for each message", f"at {commit}", "now", "ratio", "middle half", f"at most {MOST:.2f}")
    ratios: list[float] = []
    for what, taken in samples.items():
        then, now = statistics.median(taken["then"]), statistics.median(taken["now"])
        of_rounds = [new / old for old, new in zip(taken["then"], taken["now"], strict=True)]
        low, ratio, high = statistics.quantiles(of_rounds, n=4, method="inclusive")
        ratios.append(ratio)
        row: list[Any] = [what, f"{then:,.1f}", f"{now:,.1f}", f"{ratio:.2f}", f"{low:.2f} to {high:.2f}"]
        table.add_row(*row, "reached" if ratio <= MOST else "missed")
    Console(width=130).print(table)
    return int(max(ratios) > MOST)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.versions", description=__doc__.partition("\n")[0])
    parser.add_argument("commit", nargs="?", help="the commit to compare with")
    parser.add_argument("--rounds", type=int, default=30, help="of which the median is taken (default: 30)")
    parser.add_argument("--messages", type=int, default=2_000, help="in each step; a tenth of it one by one")
    parser.add_argument(
        "--only",
        nargs="+",
        choices=STEPS,
        default=[kind for kind in STEPS if kind != ON_SPARK],
        help="what to measure (default: all but spark)",
    )
    parser.add_argument("--child", help=argparse.SUPPRESS)
    wanted = parser.parse_args()
    if not (wanted.commit or wanted.child):
        parser.error("say which commit to compare with")
    if wanted.rounds < 2:
        parser.error("--rounds: at least 2, since their spread is shown")
    return wanted


if __name__ == "__main__":
    sys.exit(main())
