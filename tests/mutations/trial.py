"""A plugin of pytest that tries mutants in place of running tests; see tests/mutations/mutants.py.

pytest collects the tests once, and all of them run once in this process, which records which lines of the mutated
functions each test executes. Then each mutant gets a fork, which finds all statements compiled. It runs the tests that
execute the changed line, until one of them fails: first those that killed other mutants of the same function, then unit
tests, then the others, and of each kind one for each way through the function first. A test that kills for the first
time must pass in another fork without a mutant.
"""

import ast
import fnmatch
import json
import os
import shutil
import signal
import sys
import textwrap
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from hypothesis import settings

from tests.mutations.ends import CAUGHT, KILLED, NO_TESTS, SURVIVED, TIMEOUT

GRACE_S, TIMES = 20.0, 10.0
"""A mutant times out after so many seconds, and so many times as long as its tests took without it."""

WAITS = 4
"""The tests of a mutant take at most so many times as long as they may use the processor."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add what `mutants.py` passes on."""
    parser.addoption("--trial-jobs", type=int, default=1)
    parser.addoption("--trial-seconds", type=float, default=10.0)
    parser.addoption("--trial-modules", default="")
    parser.addoption("--trial-again", action="store_true")


def pytest_collection_modifyitems() -> None:
    """Replace the profile of Hypothesis that tests/conftest.py has loaded."""
    settings.register_profile("mutants", settings.default, derandomize=True, database=None, max_examples=15)
    settings.load_profile("mutants")


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool:
    """Try the mutants instead of running the tests."""
    options = session.config.option
    trial = Trial(session, options.trial_jobs)
    files = [Mutated(path) for path in sorted(Path("src").rglob("*.py.meta"))]
    reached = trial.warm_up(files)
    modules = options.trial_modules.split(",") if options.trial_modules else ["*"]
    for pattern in modules:
        for file in files:
            if fnmatch.fnmatch(file.path.stem, pattern):
                trial.run(file, reached, options.trial_seconds, options.trial_again)
    return True


@dataclass
class Mutated:
    """A file of mutants."""

    meta: Path

    def __post_init__(self) -> None:
        self.path = self.meta.with_suffix("")
        self.source = self.path.read_text()
        self.lines = self.source.splitlines()
        self.data = json.loads(self.meta.read_text())
        self.ends: dict[str, int | None] = self.data["exit_code_by_key"]
        spans = json.loads(Path(f"{self.path}.spans").read_text())["spans"]
        self.spans: dict[str, tuple[int, int]] = {name: (start, end) for name, (start, end) in spans.items()}

    def save(self) -> None:
        """Write the results."""
        self.meta.write_text(json.dumps(self.data, indent=4))

    def changed(self, mutant: str) -> tuple[str, range, range]:
        """Return the function of a mutant, its lines, and those of the statement that the mutant changes."""
        name = mutant.rpartition(".")[2]
        function = name.rpartition("__mutmut_")[0]
        start, end = self.spans[name]
        first, last = self.spans[f"{function}__mutmut_orig"]
        copy, own = self.lines[start - 1 : end], self.lines[first - 1 : last]
        offset = next((at for at, pair in enumerate(zip(copy[1:], own[1:], strict=False), 1) if pair[0] != pair[1]), 0)
        body = tuple(own)
        begins, ends = next(((a, b) for a, b in reversed(_statements(body)) if a <= offset <= b), (offset, offset))
        return function, range(first, last + 1), range(first + begins, first + ends + 1)


@cache
def _statements(function: tuple[str, ...]) -> list[tuple[int, int]]:
    """Return the first and the last line of each statement in a function, or of its head, outer ones first."""
    found = []
    for node in ast.walk(ast.parse(textwrap.dedent("\n".join(function)))):
        if isinstance(node, ast.stmt) and not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            body = getattr(node, "body", None)
            end = max(node.lineno, body[0].lineno - 1) if body else node.end_lineno or node.lineno
            found.append((node.lineno - 1, end - 1))
    return found


Lines = dict[str, set[int]]
"""The lines that a test executes, by file."""

Reached = dict[str, tuple[float, Lines]]
"""For each test how long it used the processor, and what it executed."""


class Trial:
    """Forks of the process that has collected the tests."""

    def __init__(self, session: pytest.Session, jobs: int) -> None:
        self.session, self.jobs, self.count = session, jobs, 0
        self.items = {item.nodeid: item for item in session.items}
        self.temporary: Path = session.config._tmp_path_factory.getbasetemp()  # type: ignore[attr-defined]
        self.broken: set[str] = set()
        self.sound: set[str] = set()
        self.killers_file = Path("killers.json")
        self.killers: dict[str, Any] = json.loads(self.killers_file.read_text()) if self.killers_file.exists() else {}

    def warm_up(self, files: list[Mutated]) -> Reached:
        """Run all tests here, so that forks find statements compiled, and return what each of them executes."""
        names = {str(one.path.absolute()): str(one.path) for one in files}
        reached: Reached = {}
        for place, item in enumerate(self.session.items, 1):
            following = self.session.items[place % len(self.session.items)]
            began = time.process_time()
            with traced(names) as lines:
                item.ihook.pytest_runtest_protocol(item=item, nextitem=following)
            reached[item.nodeid] = (time.process_time() - began, lines)
            report(f"warming up: {place} of {len(self.session.items)}")
            if self.session.testsfailed:
                self.session.testsfailed = 0
                self.leave_out(item.nodeid)
        return reached

    def leave_out(self, test: str) -> None:
        """Run a test no more, because it fails without any mutant."""
        self.broken.add(test)
        report(f"left out, as it fails without any mutant: {test}\n")

    def passes(self, test: str) -> bool:
        """Whether a test that has killed a mutant passes in a fork without any."""
        if test not in self.sound and test not in self.broken:
            _, answer = next(iter(self.forks([(test, partial(self.mutate, "", [test], 0.0), GRACE_S)])))
            if isinstance(answer, list):
                self.sound.add(test)
            else:
                self.leave_out(test)
        return test in self.sound

    def run(self, file: Mutated, reached: Reached, seconds: float, again: bool) -> None:
        """Try the mutants of a file that were not tried before, or those that lived."""
        path = str(file.path)
        by_line: dict[int, set[str]] = defaultdict(set)
        for test, (_, lines) in reached.items():
            for line in lines.get(path, ()):
                by_line[line].add(test)

        @cache
        def ranks(function: range) -> dict[str, tuple[bool, int, float]]:
            """Return the places of tests: unit tests first, and one for each way through a function before others."""
            ways: dict[frozenset[int], list[tuple[bool, float, str]]] = defaultdict(list)
            for test in set[str]().union(*(by_line[line] for line in function)):
                took, executed = reached[test]
                way = frozenset(executed[path] & {*function})
                worth = sum(1 / len(by_line[line]) for line in way) / (took + 0.02)
                ways[way].append((not test.startswith("tests/unit"), -worth, test))
            return {
                test: (slow, place, worth)
                for alike in ways.values()
                for place, (slow, worth, test) in enumerate(sorted(alike))
            }

        kills: dict[str, Counter[str]] = defaultdict(Counter)
        for mutant, found in self.killers.items():
            if isinstance(found, str):
                kills[mutant.rpartition("__mutmut_")[0]][found] += 1

        alive = (None, SURVIVED, NO_TESTS, TIMEOUT) if again else (None,)
        left = [mutant for mutant, end in file.ends.items() if end in alive][::-1]

        def work() -> Iterator[tuple[str, Callable[[], Any], float]]:
            while left:
                mutant = left.pop()
                _, function, statement = file.changed(mutant)
                tests = set[str]().union(*(by_line[line] for line in statement))
                tests = (tests or set[str]().union(*(by_line[line] for line in function))) - self.broken
                if not tests:
                    file.ends[mutant] = NO_TESTS
                    file.save()
                    continue
                killed = kills[mutant.rpartition("__mutmut_")[0]]
                order = sorted(tests, key=lambda test: (-killed[test], ranks(function)[test]))
                yield mutant, partial(self.mutate, mutant, on_one_api(order), seconds), GRACE_S + TIMES * seconds

        began = time.monotonic()
        for tried, (mutant, answer) in enumerate(self.forks(work()), 1):
            if isinstance(answer, str) and answer in self.items and not self.passes(answer):
                left.append(mutant)
                continue
            self.killers[mutant] = answer
            if isinstance(answer, str):
                kills[mutant.rpartition("__mutmut_")[0]][answer] += 1
            file.ends[mutant] = TIMEOUT if answer is None else KILLED if isinstance(answer, str) else SURVIVED
            file.save()
            ends = Counter(file.ends.values())
            named = {"types": CAUGHT, "killed": KILLED, "survived": SURVIVED, "no tests": NO_TESTS, "timeout": TIMEOUT}
            report(
                f"{file.path.stem}: {len(file.ends) - ends[None]} of {len(file.ends)}, "
                + ", ".join(f"{name} {ends[code]}" for name, code in named.items())
                + f"; {tried / (time.monotonic() - began):.2f}/s"
            )
            if tried % 20 == 0:
                self.killers_file.write_text(json.dumps(self.killers))
        self.killers_file.write_text(json.dumps(self.killers))
        report("\n")

    def mutate(self, mutant: str, tests: list[str], seconds: float) -> str | tuple[int, int]:
        """Run tests on a mutant; return the one that fails, or how many ran of how many."""
        from mutmut.mutation.trampoline import set_mutant_under_test

        set_mutant_under_test(mutant)
        until = (time.process_time() + seconds, time.monotonic() + WAITS * seconds)
        for count, item in enumerate(self.run_tests(tests), 1):
            if self.session.testsfailed:
                return item
            if time.process_time() > until[0] or time.monotonic() > until[1]:
                return count, len(tests)
        return len(tests), len(tests)

    def run_tests(self, names: list[str]) -> Iterator[str]:
        """Run tests, and yield the name of each after it has run."""
        items = [self.items[name] for name in names]
        other = next(item for item in self.session.items if item is not items[-1])
        for item, following in zip(items, [*items[1:], other], strict=True):
            item.ihook.pytest_runtest_protocol(item=item, nextitem=following)
            yield item.nodeid

    def forks(self, work: Iterable[tuple[str, Callable[[], Any], float]]) -> Iterator[tuple[str, Any]]:
        """Carry out work in a fork each; yield its name with what it returns, or None if it never ends or dies."""
        running: dict[int, tuple[str, Path, float, Path]] = {}
        pending = iter(work)
        exhausted = False
        while running or not exhausted:
            while not exhausted and len(running) < self.jobs:
                following = next(pending, None)
                if following is None:
                    exhausted = True
                    break
                name, call, seconds = following
                pid, answers, temporary = self.fork(call)
                running[pid] = (name, answers, time.monotonic() + seconds, temporary)
            for pid, (name, answers, until, temporary) in list(running.items()):
                ended = os.waitpid(pid, os.WNOHANG)[0] != 0
                if not ended and time.monotonic() < until:
                    continue
                with suppress(ProcessLookupError):
                    os.killpg(pid, signal.SIGKILL)
                if not ended:
                    os.waitpid(pid, 0)
                del running[pid]
                text = answers.read_text() if answers.exists() else ""
                shutil.rmtree(temporary, ignore_errors=True)
                answers.unlink(missing_ok=True)
                yield name, json.loads(text) if text else None
            time.sleep(0.003)

    def fork(self, call: Callable[[], Any]) -> tuple[int, Path, Path]:
        """Carry out a call in a fork; return its process, the file of its answer, and its folder."""
        self.count += 1
        temporary = self.temporary / f"fork-{self.count}"
        answers = temporary.with_suffix(".json")
        pid = os.fork()
        if pid:
            return pid, answers, temporary
        try:
            os.setpgid(0, 0)
            temporary.mkdir()
            self.session.config._tmp_path_factory._basetemp = temporary  # type: ignore[attr-defined]
            silence = Path(os.devnull).open("w")  # noqa: SIM115 – until the process ends
            os.dup2(silence.fileno(), 1)
            os.dup2(silence.fileno(), 2)
            terminal = self.session.config.pluginmanager.get_plugin("terminalreporter")
            if terminal is not None:
                terminal._tw._file = silence
            answers.write_text(json.dumps(call()))
        except pytest.fail.Exception:  # pytest-timeout, between two tests
            answers.write_text("null")
        except BaseException as error:
            answers.write_text(json.dumps(f"{type(error).__name__} outside of tests: {error}"))
        finally:
            os._exit(0)


@contextmanager
def traced(files: dict[str, str]) -> Iterator[Lines]:
    """Collect the lines that this thread and new ones execute in files, by the names that the files have here."""
    lines: Lines = defaultdict(set)

    def call(frame: FrameType, event: str, argument: object) -> Callable[..., Any] | None:
        name = files.get(frame.f_code.co_filename)
        if name is None:
            return None
        own = lines[name]

        def line(frame: FrameType, event: str, argument: object) -> Callable[..., Any]:
            own.add(frame.f_lineno)
            return line

        return line

    threading.settrace(call)
    sys.settrace(call)
    try:
        yield lines
    finally:
        sys.settrace(None)
        threading.settrace(None)  # type: ignore[arg-type]


def on_one_api(tests: list[str]) -> list[str]:
    """Return tests without those that came for the other API before."""
    first: dict[str, str] = {}
    for test in tests:
        first.setdefault(test.replace("[async", "[sync"), test)
    return [*first.values()]


def report(text: str) -> None:
    """Show progress."""
    print(f"\r\033[K{text}", end="", file=sys.__stderr__, flush=True)
