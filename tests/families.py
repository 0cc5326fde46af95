"""What `make test` writes about each family of databases: its version, the promises kept, and those it cannot keep.

The report is `build/families.json`; `tools/databases.py` makes the README's table of it, and checks that table.
"""

from __future__ import annotations

import json
import re
import sqlite3
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import pytest

from tests.servers.fixtures import MISSING, VERSIONS

REPORT = Path(__file__).parent.parent / "build" / "families.json"

FAMILIES = ("sqlite", "postgresql", "mariadb", "mysql", "mongodb", "mssql", "memory")

OF_OURSELVES = {"sqlite": sqlite3.sqlite_version, "memory": "duerow's own"}

Ending = Literal["passed", "failed", "xfailed"]


@dataclass
class Family:
    """What is known of one family.

    Attributes:
        promises: the functions of the conformance suite, each with how its cases ended.
        reasons: why those are not kept of which that is expected.
        tests: how many of all tests on it passed, by the folder that they are in.
    """

    promises: dict[str, set[Ending]] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)
    tests: Counter[str] = field(default_factory=Counter)

    def told(self, version: str | None, missing: str | None, promises: set[str]) -> dict[str, Any]:
        """Return it as the report tells it; `promises` are those of the whole suite."""
        if missing is not None or not self.promises:
            return {"version": None, "not_run": missing or "none of its tests was asked for"}
        expected = {name: reason for name, reason in self.reasons.items() if "failed" not in self.promises[name]}
        return {
            "version": version,
            "promises": {
                "passed": sum(endings == {"passed"} for endings in self.promises.values()),
                "failed": sorted(name for name, endings in self.promises.items() if "failed" in endings),
            },
            "never": _of_kind(expected, "never"),
            "not_yet": _of_kind(expected, "not yet"),
            "left_to_soak": sorted(promises - self.promises.keys()),
            "tests": dict(sorted(self.tests.items())),
        }


def _of_kind(reasons: Mapping[str, str], kind: str) -> dict[str, str]:
    told = f"{kind}: "
    return {name: reason.removeprefix(told) for name, reason in sorted(reasons.items()) if reason.startswith(told)}


@dataclass(frozen=True)
class Seen:
    """How one test ended; `reason` is why that was expected of one that did not pass."""

    test: str
    ending: Ending
    reason: str = ""


def report(
    seen: Iterable[Seen], versions: Mapping[str, str], missing: Mapping[str, str], whole: bool
) -> dict[str, Any]:
    """Return what is written.

    Args:
        seen: the tests that ran.
        versions: what the servers said of themselves, by family.
        missing: why a family could not run.
        whole: whether all tests were asked for.
    """
    families = {name: Family() for name in FAMILIES}
    for one in seen:
        folder, file, function, family_name = _place(one.test)
        if family_name is None:
            continue
        family = families[family_name]
        if (folder, file) == ("stores", "test_conformance.py"):
            family.promises.setdefault(function, set()).add(one.ending)
            if one.ending == "xfailed":
                family.reasons[function] = one.reason
        family.tests[folder] += one.ending == "passed"
    told = OF_OURSELVES | dict(versions)
    promises = {promise for family in families.values() for promise in family.promises}
    return {
        "whole": whole,
        "families": {
            name: family.told(told.get(name), missing.get(name), promises) for name, family in families.items()
        },
    }


def _place(test: str) -> tuple[str, str, str, str | None]:
    """Return the folder in tests/, the file and the function of a test, and the family that it ran on, if one."""
    path, _, name = test.partition("::")
    function, _, given = name.partition("[")
    folders = path.split("/")
    folder = folders[1] if len(folders) > 2 else ""
    if folder == "stores":
        family = folders[2]
    else:
        families = [word for word in re.split(r"[-\]]", given) if word in FAMILIES]
        family = families[0] if len(families) == 1 else ""
    return folder, folders[-1], function, family if family in FAMILIES else None


class Recorder:
    """Takes down how each test ended, in the process that reports."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.seen: list[Seen] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take a test's end, and a failure before or after it."""
        if report.when == "call" and report.passed and not hasattr(report, "wasxfail"):
            self.seen.append(Seen(report.nodeid, "passed"))
        elif report.failed:
            self.seen.append(Seen(report.nodeid, "failed"))
        elif report.when == "call" and report.skipped and hasattr(report, "wasxfail"):
            self.seen.append(Seen(report.nodeid, "xfailed", report.wasxfail.removeprefix("reason: ")))

    @pytest.hookimpl(trylast=True)  # after every process has handed over what it knows
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Write the report."""
        stash, options = self.config.stash, self.config.option
        everything = not options.keyword and self.config.args == self.config.getini("testpaths")
        known = report(self.seen, stash.get(VERSIONS, {}), stash.get(MISSING, {}), whole=everything)
        REPORT.parent.mkdir(exist_ok=True)
        REPORT.write_text(json.dumps(known, indent=2) + "\n")


def pytest_configure(config: pytest.Config) -> None:
    """Have one recorder, where the long tests are not meant."""
    if not hasattr(config, "workerinput") and config.option.markexpr == "not soak" and not config.option.collectonly:
        config.pluginmanager.register(Recorder(config), "families")
