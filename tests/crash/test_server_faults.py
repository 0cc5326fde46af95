"""A server that is restarted, whose disk is full and whose clock is set: no message is lost or done twice."""

from __future__ import annotations

import os
import signal
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import timedelta
from typing import Any
from unittest.mock import patch

import pytest

import duerow
from duerow import Draft
from duerow.errors import ConfigurationError, LeaseLost, StoreUnavailable
from duerow.testing.torture import Options, torture
from duerow.testing.torture.environment import Setting
from duerow.testing.torture.faults import Faults
from duerow.testing.torture.options import any_seed
from duerow.testing.worker_harness import eventually
from tests.processes import forking
from tests.servers import mariadb, mongodb, postgresql
from tests.servers.disk import NoSmallDisk, small_disk
from tests.servers.fixtures import MISSING, provide
from tests.servers.restartable import Restartable, Wanted

FAMILIES: dict[str, Any] = {"postgresql": postgresql, "mariadb": mariadb}
LARGE = "x" * 50_000
BATCH = 10
MINUTE = timedelta(minutes=1)


@contextmanager
def running(family: str) -> Iterator[Restartable]:
    if family == "mongodb":
        with mongodb.restartable() as server:
            yield server
        return
    with ExitStack() as started:
        try:
            server = started.enter_context(FAMILIES[family].restartable(wanted=Wanted(full_disk=True, clock=True)))
        except NoSmallDisk:
            server = started.enter_context(FAMILIES[family].restartable(wanted=Wanted(clock=True)))
        yield server


def require_small_disk(server: Restartable, config: pytest.Config) -> None:
    """Skip a test where no small disk can be mounted, and name that at the end of the run.

    In CI, too: a container has no right to it, and no package could change that.
    """
    if server.fill is None:
        reason = "no small disk can be mounted: this takes root, or a user who may have namespaces"
        config.stash.setdefault(MISSING, {})["a server's full disk"] = reason
        pytest.skip(reason)


@pytest.fixture(params=[*FAMILIES, pytest.param("mongodb", marks=pytest.mark.soak)], scope="module")
def any_server(request: pytest.FixtureRequest) -> Iterator[Restartable]:
    yield from provide(f"{request.param}, restarted", lambda: running(request.param), request.config)


@pytest.fixture(params=FAMILIES, scope="module")
def server(request: pytest.FixtureRequest) -> Iterator[Restartable]:
    yield from provide(
        f"{request.param} with a small disk and a clock of its own", lambda: running(request.param), request.config
    )


@pytest.fixture(autouse=True)
def restored(request: pytest.FixtureRequest) -> Iterator[None]:
    """Free the disk and correct the clock of a shared server after a test, even if it failed."""
    yield
    for name in {"server", "any_server"} & {*request.fixturenames}:
        server: Restartable = request.getfixturevalue(name)
        if server.free is not None:
            server.free()
        if server.set_clock is not None:
            server.set_clock(0.0)


def opened(server: Restartable) -> duerow.Database:
    return duerow.connect(server.url, migrate=True, prefix=f"faults_{uuid.uuid4().hex[:8]}_")


def test_a_server_keeps_its_messages_and_leases_however_it_is_restarted(any_server: Restartable):
    with opened(any_server) as database:
        queue = database.queue("mail", lease=timedelta(hours=1))
        for number in range(4):
            queue.push(number)
        held = [queue.reserve() for _ in range(2)]
        for one in held:
            any_server.restart()
            assert one is not None
            done_again(one.commit)
        left = []
        while (message := done_again(queue.pop)) is not None:
            left.append(message.payload)
        assert sorted(left + [one.message.payload for one in held if one]) == [0, 1, 2, 3]


def done_again(what: Any) -> Any:
    """Do something, once more if the first connection that it takes is from before a restart."""
    done: list[Any] = []

    def do() -> bool:
        try:
            done.append(what())
        except StoreUnavailable:
            return False
        return True

    eventually(do)
    return done[0]


def test_a_push_for_which_a_server_has_no_space_changes_nothing_and_can_be_repeated(
    server: Restartable, pytestconfig: pytest.Config
):
    require_small_disk(server, pytestconfig)
    assert server.fill is not None
    assert server.free is not None
    with opened(server) as database:
        queue = database.queue("mail")
        queue.push("before")
        pushed: list[Any] = []
        server.fill()
        with pytest.raises(StoreUnavailable):
            push_for_ever(queue, pushed)
        server.free()
        pushed.append(done_again(lambda: queue.push("after")))
        assert queue.stats().ready == 1 + len(pushed)


def push_for_ever(queue: duerow.Queue[Any], pushed: list[Any]) -> None:
    while True:
        pushed += queue.push_many([Draft(LARGE)] * BATCH)


def test_a_lease_ends_by_the_servers_clock_and_receipts_decide_whose_the_message_is(server: Restartable):
    assert server.set_clock is not None
    with opened(server) as database:
        queue = database.queue("mail")
        queue.push("hello")
        first = queue.reserve(lease=MINUTE)
        assert first is not None
        assert queue.reserve() is None
        server.set_clock(120.0)
        second = queue.reserve(lease=MINUTE)
        assert second is not None
        assert (second.message.id, second.attempt) == (first.message.id, 2)
        with pytest.raises(LeaseLost):
            first.commit()
        server.set_clock(0.0)
        second.commit()
        assert queue.reserve() is None


def test_when_the_servers_clock_is_set_back_messages_wait_and_none_is_lost(server: Restartable):
    assert server.set_clock is not None
    with opened(server) as database:
        queue = database.queue("mail")
        server.set_clock(120.0)
        queue.push("early")
        server.set_clock(0.0)
        assert queue.pop() is None
        queue.push("late")
        late = queue.pop()
        assert late is not None
        assert late.payload == "late"
        server.set_clock(121.0)
        early = queue.pop()
        assert early is not None
        assert early.payload == "early"
        server.set_clock(0.0)


def test_a_disk_is_filled_freed_and_a_clock_set_by_commands_and_functions(tmp_path: Any):
    setting = Setting(f"sqlite:///{tmp_path}/spare.db")
    done: list[Any] = []
    by_functions = Options(
        fill_disk=lambda: done.append("filled"), free_disk=lambda: done.append("freed"), set_clock=done.append
    )
    for options in (
        by_functions,
        Options(
            fill_disk=f"touch {tmp_path}/ballast",
            free_disk=f"rm {tmp_path}/ballast",
            set_clock=f"sh -c 'echo $0 >> {tmp_path}/at'",
        ),
    ):
        faults = Faults(options, setting, None, setting.chance)
        assert options.fill_disk is not None
        assert options.set_clock is not None
        faults.fill_disk(options.fill_disk)
        faults.fill_disk(options.fill_disk)  # it is full already
        assert faults.is_disk_full
        faults.set_clock(options.set_clock, 1.5)
        faults.pass_over(all_of_them=True)
        assert not faults.is_disk_full
        faults.end()
        faults.end()  # nothing is left to be ended
        assert faults.happened["times out of disk space"] == 1
        assert faults.happened["times the server's clock was set"] == 1
    assert done == ["filled", 1.5, "freed", 0.0]
    assert (tmp_path / "at").read_text().split() == ["1.500", "0.000"]


def test_the_disk_is_freed_before_a_restart_and_when_a_run_is_broken_off(tmp_path: Any):
    setting = Setting(f"sqlite:///{tmp_path}/spare.db")
    done: list[str] = []
    options = Options(fill_disk=lambda: done.append("filled"), free_disk=lambda: done.append("freed"))
    faults = Faults(options, setting, None, setting.chance)
    assert options.fill_disk is not None
    faults.fill_disk(options.fill_disk)
    faults.restart(lambda: done.append("restarted"))
    faults.fill_disk(options.fill_disk)
    faults.end()
    assert done == ["filled", "freed", "restarted", "filled", "freed"]


def test_a_disk_that_could_not_be_freed_and_a_clock_are_tried_again_at_the_end(tmp_path: Any):
    setting = Setting(f"sqlite:///{tmp_path}/spare.db")
    done: list[Any] = []

    def free() -> None:
        done.append("freed")
        if done.count("freed") < 3:
            raise ConfigurationError("there is no server")

    faults = Faults(Options(fill_disk=print, free_disk=free, set_clock=done.append), setting, None, setting.chance)
    faults.fill_disk(lambda: done.append("filled"))
    faults.set_clock(done.append, 1.5)
    for attempt in (lambda: faults.pass_over(all_of_them=True), faults.end):
        with pytest.raises(ConfigurationError, match="there is no server"):
            attempt()
    faults.end()
    assert done == ["filled", 1.5, "freed", "freed", 0.0, "freed"]


def test_a_server_that_cannot_be_restored_is_told_and_the_tables_are_dropped(tmp_path: Any):
    def set_clock(seconds: float) -> None:
        if not seconds:
            raise ConfigurationError("there is no clock")

    told: list[str] = []
    options = Options(kills=1, processes=2, set_clock=set_clock, only=("push", "pop"), patience=5.0)
    with patch.object(Faults, "happen", lambda faults, *_: faults.set_clock(set_clock, 1.0)):
        torture(f"sqlite:///{tmp_path}/spare.db", options, tell=told.append, context=forking())
    assert [one for one in told if "there is no clock; restore it by hand" in one]
    assert not [one for one in told if "drop them by hand" in one]


def test_a_command_that_starts_a_server_is_not_waited_for_any_longer_than_itself(tmp_path: Any):
    setting = Setting(f"sqlite:///{tmp_path}/spare.db")
    options = Options(fill_disk="true", free_disk=f"sh -c 'sleep 1000 & echo $! > {tmp_path}/left'")
    faults = Faults(options, setting, None, setting.chance)
    faults.fill_disk("true")
    faults.end()
    os.kill(int((tmp_path / "left").read_text()), signal.SIGKILL)


@pytest.mark.parametrize("options", [Options(kills=0, fill_disk="true"), Options(kills=0, free_disk="true")])
def test_a_disk_is_filled_and_freed_or_neither(options: Options):
    with pytest.raises(ConfigurationError, match=r"fill_disk|must be freed again"):
        torture("sqlite:///spare.db", options)


def test_a_full_disk_is_refused_where_no_small_disk_can_be_mounted(tmp_path: Any, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "unshare").write_text("#!/bin/sh\necho 'Operation not permitted' >&2; exit 1\n")
    (tmp_path / "unshare").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    with (
        pytest.raises(NoSmallDisk, match=r"full disk needs a small disk .* Operation not permitted"),
        small_disk(tmp_path / "disk", 1, None),
    ):
        pass


def test_a_run_that_asks_mongodb_for_an_answer_does_not_rely_on_a_client_from_before_a_restart(mongodb_url: str):
    access = Setting(mongodb_url).access
    access.client.close()  # type: ignore[attr-defined] # as good as one that has forgotten the server
    assert access.answers()
    access.close()


def test_a_line_of_the_ledger_whose_answer_is_lost_is_not_written_again_by_the_driver():
    access = Setting("mongodb://127.0.0.1:1/spare").access
    assert not access.client.options.retry_writes  # type: ignore[attr-defined]
    access.close()


@pytest.mark.soak
@pytest.mark.timeout(3_600)
@pytest.mark.parametrize("wanted", [Wanted(full_disk=True), Wanted(clock=True)], ids=["full disk", "clock"])
@pytest.mark.parametrize("family", FAMILIES)
def test_a_full_disk_or_a_clock_that_is_set_loses_doubles_and_blocks_nothing(
    family: str, wanted: Wanted, processes: Any
) -> None:
    seed = int(os.environ.get("DUEROW_SOAK_SEED", any_seed()))
    print(f"seed {seed}")
    with FAMILIES[family].restartable(wanted=wanted) as server:
        options = Options(
            seed,
            kills=60,
            restart=server.restart,
            restarts=10,
            fill_disk=server.fill,
            free_disk=server.free,
            set_clock=server.set_clock,
        )
        report = torture(server.url, options, context=processes)
    print(report)
    assert report.faults["times out of disk space" if wanted.full_disk else "times the server's clock was set"]
    assert not report.broken, report
