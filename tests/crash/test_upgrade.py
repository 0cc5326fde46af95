"""The tables are upgraded while others work: several processes migrate at once, some die, and nothing is lost."""

from __future__ import annotations

import random
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import duerow
from duerow.errors import ConfigurationError, SchemaNewer, SchemaOutdated
from duerow.stores.sql.migrations import MIGRATIONS
from duerow.testing.conformance.fixtures import Place
from duerow.testing.torture import Options, other_version, tables, torture
from duerow.testing.torture.environment import MAIL, Setting
from duerow.testing.torture.evidence import Row, Span
from duerow.testing.torture.ledger import Ledger
from duerow.testing.torture.options import any_seed
from duerow.testing.torture.run import LEAST
from duerow.testing.torture.upgrade import AT_ONCE, LOG, MORTAL, Upgrade, check_number, knowing
from duerow.testing.torture.verdict import Verdict
from tests.crash.conftest import Start

NAMES = [name for name, _ in MIGRATIONS]
NEWEST = len(NAMES)


@pytest.mark.parametrize(
    ("kills", "earlier"),
    [
        pytest.param(2, NEWEST - 1, id="small"),
        *[pytest.param(60, number, id=str(number), marks=pytest.mark.soak) for number in range(1, NEWEST)],
    ],
)
def test_nothing_is_lost_while_the_tables_are_upgraded_and_migrators_are_killed(
    place: Place, processes: Any, count_killed: Callable[[int], None], tmp_path: Path, kills: int, earlier: int
) -> None:
    seed = any_seed()
    print(f"seed {seed}")
    options = Options(seed, kills, processes=4 if kills < 10 else 8, upgrade_from=earlier)
    report = torture(place.url, options, shared=True, context=processes, folder=tmp_path)
    print(report)
    count_killed(sum(report.killed.values()))
    assert report.turns >= LEAST
    assert not report.broken, report
    assert f"upgraded from version {earlier} to {NEWEST}" in str(report)


def test_processes_that_migrate_at_once_make_each_migration_once_whoever_dies(
    place: Place, start: Start, tmp_path: Path
) -> None:
    setting = Setting(place.url, {"prefix": tables.prefix_of(8)})
    tables.create(setting, NEWEST - 2)
    told = [tmp_path / str(number) for number in range(4)]
    started = [
        start(other_version.migrate, setting.url, setting.all_settings, dies, 0.002, file)
        for dies, file in zip((6, 14, None, None), told, strict=True)
    ]
    for one in started:
        one.join()
    assert {one.exitcode for one in started[:2]} <= {0, -signal.SIGKILL}
    assert [one.exitcode for one in started[2:]] == [0, 0]
    assert tables.Reader(setting).made() == [*enumerate(NAMES, 1)]
    made = [name for file in told if file.exists() for name in file.read_text().splitlines()]
    assert sorted(made) == sorted({*made} & {*NAMES[NEWEST - 2 :]})
    setting.access.drop()


@pytest.mark.parametrize("version", [1, NEWEST - 1])
def test_tables_of_an_earlier_version_begin_with_messages_which_the_upgrade_keeps(place: Place, version: int) -> None:
    setting = Setting(place.url, {"prefix": tables.prefix_of(9)}, seed=version)
    tables.create(setting, version)
    reader, access = tables.Reader(setting), setting.access
    assert reader.made() == [*enumerate(NAMES[:version], 1)]
    left = sorted(access.messages())
    assert len(left) >= tables.LEFT
    assert any(leased_by is not None for *_, leased_by in left)
    pushed = {line.message for line in Ledger(setting).lines() if line.what == "pushed"}
    assert pushed == {id for id, *_ in left}
    duerow.connect(setting.url, migrate=True, **setting.all_settings).close()
    assert sorted(access.messages()) == left
    access.drop()
    access.close()


def test_a_process_that_is_to_know_fewer_migrations_takes_the_tables_for_its_own_and_refuses_newer_ones(
    tmp_path: Path,
) -> None:
    setting = Setting(f"sqlite:///{tmp_path}/spare.db", {"prefix": tables.prefix_of(7)})
    tables.create(setting, NEWEST - 1)
    with pytest.raises(SchemaOutdated):
        setting.open()
    with knowing(setting.url, NEWEST - 1), setting.open() as database:
        database.queue(MAIL).push("left by the earlier version")
    with duerow.connect(setting.url, migrate=True, **setting.all_settings) as database:
        message = database.queue(MAIL).pop()
    assert message is not None
    with knowing(setting.url, NEWEST - 1), pytest.raises(SchemaNewer):
        setting.open()


@pytest.mark.parametrize("number", [-1, 0, NEWEST, NEWEST + 1])
def test_a_version_that_there_is_no_upgrade_from_is_refused_before_anything_is_made(
    tmp_path: Path, number: int
) -> None:
    with pytest.raises(
        ConfigurationError, match=rf"version {number}: this .* version {NEWEST}, and .* 1 to {NEWEST - 1}"
    ):
        torture(f"sqlite:///{tmp_path}/spare.db", Options(kills=0, upgrade_from=number))
    with pytest.raises(ConfigurationError, match="earlier versions are none"):
        check_number(1, ["0001 messages"])


class Migrator:
    """A process that has ended."""

    def __init__(self, exitcode: int) -> None:
        self.exitcode = exitcode


def upgrade(tmp_path: Path, *codes: int) -> tuple[Upgrade, list[int | None]]:
    """An upgrade whose migrators end with these codes, and where they died."""
    left, dying = [*codes], list[int | None]()

    def start(dies: int | None, _: float, told: Path) -> Migrator:
        dying.append(dies)
        code = left.pop(0) if left else 0
        if code == 0 and not any(file.read_text() for file in tmp_path.iterdir()):
            told.write_text(f"{NAMES[-1]}\n")
        return Migrator(code)

    return Upgrade(NEWEST - 1, NAMES, start, tmp_path, random.Random(7)), dying


def test_others_migrate_as_long_as_all_have_been_killed_and_the_upgrade_is_over_when_one_has_ended(
    tmp_path: Path,
) -> None:
    one, dying = upgrade(tmp_path, *[-signal.SIGKILL] * AT_ONCE, -signal.SIGKILL)
    assert not one.is_over
    one.pass_over()
    assert dying == []
    one.begin()
    one.begin()
    assert len(dying) == AT_ONCE
    one.finish(60)
    assert one.is_over
    assert one.happened == {"migrators": 2 * AT_ONCE, "migrators killed": AT_ONCE + 1}
    assert None not in dying[:MORTAL]
    assert not [*one.broken_promises([*enumerate(NAMES, 1)])]
    assert str(one).startswith(f"upgraded from version {NEWEST - 1} to {NEWEST} by {2 * AT_ONCE} migrators")


def test_a_migration_that_is_missing_or_made_twice_and_a_migrator_that_failed_are_broken_promises(
    tmp_path: Path,
) -> None:
    one, _ = upgrade(tmp_path, 1)
    one.finish(60)
    (tmp_path / LOG).write_text("it has no rights")
    (tmp_path / "migrated-1").write_text(f"{NAMES[-1]}\n{NAMES[0]}\n")
    (tmp_path / "migrated-2").write_text(f"{NAMES[-1]}\n")
    broken = "\n".join(one.broken_promises([*enumerate(NAMES[:-1], 1)]))
    assert "1 migrators failed:\nit has no rights" in broken
    assert "should be recorded once each" in broken
    assert f"2 migrators say that they made {NAMES[-1]}" in broken
    assert f"1 migrators say that they made {NAMES[0]}" in broken
    unfinished, _ = upgrade(tmp_path)
    assert "the upgrade did not end" in [*unfinished.broken_promises([*enumerate(NAMES, 1)])]


def test_ticks_are_counted_from_the_first_one_if_nobody_saw_the_schedule_begin() -> None:
    def rows(*seconds: int) -> list[Row]:
        return [Row(n, "ticks", "new", {}, {"tick": f"2026-11-26T12:00:{n:02}+00:00"}) for n in seconds]

    assert not [*Verdict([], rows(3, 4, 5), [], Span(None, None)).not_ticked_once()]
    assert not [*Verdict([], [], [], Span(None, None)).not_ticked_once()]
    assert len([*Verdict([], rows(3, 5), [], Span(None, None)).not_ticked_once()]) == 1


def test_an_upgrade_that_does_not_end_is_given_up_in_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one, _ = upgrade(tmp_path, *[-signal.SIGKILL] * 1000)
    clock = iter(range(1000))
    monkeypatch.setattr(time, "monotonic", lambda: next(clock))
    monkeypatch.setattr(time, "sleep", lambda _: None)
    one.finish(5)
    assert not one.is_over
