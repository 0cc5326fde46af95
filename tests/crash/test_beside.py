"""Two versions of duerow work on the same tables in a run of torture; a version that cannot is refused before it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

import duerow
from duerow.errors import ConfigurationError
from duerow.stores.sql.migrations import MIGRATIONS
from duerow.testing.conformance.fixtures import Place
from duerow.testing.torture import Options, torture
from duerow.testing.torture import run as torture_run
from duerow.testing.torture.environment import MAIL, Setting
from duerow.testing.torture.options import any_seed
from duerow.testing.torture.report import Report
from duerow.testing.torture.sides import Here, There, check_able, ordered
from tests.crash import other_versions

NEWEST = len(MIGRATIONS)
BESIDE = f"{NEWEST + 1:04} notes [from {NEWEST}]"
APART = f"{NEWEST + 1:04} notes"

SMALL, FULL = 2, 60


def tortured(place: Place, processes: Any, folder: Path, kills: int, python: str, **more: Any) -> Report:
    """The report of a run in which another version takes part."""
    seed = any_seed()
    print(f"seed {seed}")
    options = Options(seed, kills, processes=4 if kills < 10 else 8, beside=python, **more)
    report = torture(place.url, options, shared=True, context=processes, folder=folder)
    print(report)
    assert not report.broken, report
    return report


def runs_of(report: Report, *versions: str) -> bool:
    """Whether these versions took part, and each of them had an effect."""
    named = [part.version.removeprefix("duerow ").partition(" on ")[0] for part in report.parts]
    return named == [*versions] and all(part.turns and part.effects for part in report.parts)


@pytest.mark.soak
@pytest.mark.parametrize("place", ["postgresql", "mariadb"], indirect=True)
def test_two_versions_work_on_the_same_tables_and_nothing_is_lost(
    place: Place, processes: Any, count_killed: Callable[[int], None], tmp_path: Path
) -> None:
    python = other_versions.copied(tmp_path, "0.1.9")
    report = tortured(place, processes, tmp_path, FULL, python)
    count_killed(sum(report.killed.values()))
    assert runs_of(report, duerow.__version__, "0.1.9")
    assert not report.upgrade


@pytest.mark.parametrize(
    "kills", [pytest.param(SMALL, id="small"), pytest.param(FULL, id="full", marks=pytest.mark.soak)]
)
@pytest.mark.parametrize(
    "place",
    ["sqlite", pytest.param("postgresql", marks=pytest.mark.soak), pytest.param("mariadb", marks=pytest.mark.soak)],
    indirect=True,
)
def test_a_newer_version_upgrades_the_tables_while_this_one_works_and_this_one_works_on_beside_it(
    place: Place, processes: Any, count_killed: Callable[[int], None], tmp_path: Path, kills: int
) -> None:
    python = other_versions.copied(tmp_path, "9.9.9", other_versions.with_notes(BESIDE))
    report = tortured(place, processes, tmp_path, kills, python)
    count_killed(sum(report.killed.values()))
    assert runs_of(report, duerow.__version__, "9.9.9")
    assert report.upgrade.startswith(f"upgraded from version {NEWEST} to {NEWEST + 1} by ")


@pytest.mark.soak
def test_an_earlier_commit_of_this_checkout_works_beside_this_one(
    place: Place, processes: Any, count_killed: Callable[[int], None], tmp_path: Path
) -> None:
    commit = other_versions.earliest_with("testing/torture/disks.py")
    if commit is None:
        pytest.skip("NOT SHOWN: this is no checkout with its history, so there is no earlier version to work beside")
    python = other_versions.interpreter(tmp_path, other_versions.from_history(tmp_path, commit), "0.1.0")
    report = tortured(place, processes, tmp_path, 30, python)
    count_killed(sum(report.killed.values()))
    assert runs_of(report, duerow.__version__, "0.1.0")


@pytest.fixture
def setting(tmp_path: Path) -> Setting:
    return Setting(f"sqlite:///{tmp_path}/spare.db", {"prefix": "torture_7_"}, traces=tmp_path)


def refused(setting: Setting, python: str, match: str, **more: Any) -> None:
    """Assert that a run with this interpreter ends before it begins."""
    with pytest.raises(ConfigurationError, match=match):
        torture(setting.url, Options(7, kills=0, beside=python, **more))
    assert not [*setting.access.prefixes()]


@dataclass
class Newer:
    """Another interpreter, as a run sees it, with one migration more."""

    name = "duerow 9.9.9 on Python 3.11.0 (beside)"
    migrations: list[str]

    def check_options(self, setting: Setting) -> None:
        """It can do all."""

    def close(self) -> None:
        """There is nothing to end."""


@pytest.fixture
def newer(monkeypatch: pytest.MonkeyPatch) -> Newer:
    """What takes part beside this version."""
    found = Newer([name for name, _ in MIGRATIONS])
    monkeypatch.setattr(torture_run, "There", lambda *_: found)
    return found


def test_a_version_whose_newer_tables_this_one_cannot_use_is_refused_and_named(setting: Setting, newer: Newer) -> None:
    newer.migrations.append(APART)
    refused(
        setting,
        "python",
        rf"duerow {duerow.__version__} .*\(here\) cannot work beside duerow 9.9.9 .*\(beside\): it supports tables of "
        rf"version {NEWEST} and refuses those of version {NEWEST + 1} \({APART}\)",
    )


def test_a_run_whose_versions_differ_in_their_tables_upgrades_from_one_of_them_only(
    setting: Setting, newer: Newer
) -> None:
    newer.migrations.append(BESIDE)
    match = f"from version {NEWEST} to {NEWEST + 1} by itself: leave upgrade_from out"
    refused(setting, "python", match, upgrade_from=3)


def test_an_interpreter_without_duerow_or_without_torture_is_refused(setting: Setting, tmp_path: Path) -> None:
    refused(setting, str(tmp_path / "none"), "none cannot be started: No such file")
    (tmp_path / "bare").mkdir()
    refused(setting, other_versions.bare(tmp_path / "bare"), "the interpreter in .* cannot take part: it has no duerow")
    package = tmp_path / "tree" / "duerow"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text('__version__ = "0.0.1"\n')
    python = other_versions.interpreter(tmp_path, package.parent, "0.0.1")
    refused(setting, python, "duerow 0.0.1 in .* cannot take part: it has no `duerow torture`")


def test_an_interpreter_that_ends_by_itself_is_told_with_what_it_said(setting: Setting, tmp_path: Path) -> None:
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\necho it is broken >&2\nexit 3\n")
    python.chmod(0o700)
    refused(setting, str(python), "ended by itself:\nit is broken")


@pytest.fixture(scope="module")
def started(tmp_path_factory: pytest.TempPathFactory) -> Iterator[There]:
    """An interpreter with this version under another number."""
    folder = tmp_path_factory.mktemp("other")
    (folder / "this").mkdir()
    (folder / "this" / "duerow").symlink_to(other_versions.PACKAGE)
    python = other_versions.interpreter(folder, folder / "this", "0.1.9")
    side = There(python, folder, "sqlite:///spare.db", {"prefix": "torture_7_"})
    yield side
    side.close()


@pytest.fixture
def there(started: There, monkeypatch: pytest.MonkeyPatch) -> There:
    for name in ("migrations", "_fields"):
        monkeypatch.setattr(started, name, getattr(started, name))
    return started


def test_a_process_of_another_interpreter_that_fails_has_ended_by_itself_and_its_log_says_why(
    there: There, setting: Setting
) -> None:
    process, ready = there.start("nothing", MAIL, setting)
    process.join()
    process.kill()
    assert process.exitcode == 1
    assert not ready.poll()
    ready.close()
    assert "KeyError: 'nothing'" in there.log.read_text()


def test_a_version_that_keeps_another_ledger_or_has_not_all_options_is_refused(there: There, setting: Setting) -> None:
    about = there.ask("describe", url="sqlite:///spare.db", settings={"prefix": "torture_7_"})
    check_able(about, "python")
    with pytest.raises(ConfigurationError, match=r"duerow 0.1.9 in python cannot .* keeps another ledger"):
        check_able({**about, "line": about["line"][1:]}, "python")
    with pytest.raises(ConfigurationError, match="uses other queues"):
        check_able({**about, "queues": {}}, "python")
    there.check_options(replace(setting, clocks=True))
    there._fields = frozenset({*Setting.__dataclass_fields__} - {"clocks", "known"})
    there.check_options(replace(setting, known=3))
    with pytest.raises(ConfigurationError, match="a run with clocks, which it does not have"):
        there.check_options(replace(setting, clocks=True))


def test_versions_whose_tables_went_different_ways_do_not_work_side_by_side(there: There) -> None:
    other = Here(None, Path(), "sqlite:///spare.db")
    assert ordered(other, there) == (other, there)
    there.migrations = [*there.migrations, BESIDE]
    assert ordered(other, there) == (other, there)
    assert ordered(there, other) == (other, there)
    there.migrations = [*there.migrations[:-2], "0007 other", BESIDE]
    with pytest.raises(ConfigurationError, match="they make different tables"):
        ordered(other, there)
