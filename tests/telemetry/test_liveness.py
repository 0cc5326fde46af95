"""Systemd and a file are told how workers are."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace

import pytest

from duerow.errors import ConfigurationError
from duerow.telemetry import liveness
from duerow.telemetry.liveness import HealthFile, Systemd, reported, systemd_of
from duerow.worker.health import Health

READY = Health(True, True, "ok")
STARTING = Health(True, False, "the worker is not running")
HANGING = Health(False, False, "the worker on mail has not checked its database for 90 s")


@pytest.fixture
def manager(tmp_path: Path) -> Iterator[socket.socket]:
    """What listens in systemd's place."""
    with closing(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)) as listening:
        listening.bind(str(tmp_path / "notify"))
        listening.settimeout(30)
        yield listening


def heard(manager: socket.socket) -> list[str]:
    return manager.recv(4096).decode().split("\n")


def test_systemd_is_told_once_that_the_workers_are_ready_and_then_that_they_live(
    manager: socket.socket, tmp_path: Path
) -> None:
    systemd = Systemd(str(tmp_path / "notify"))
    for health in (STARTING, READY, READY, HANGING):
        systemd.report(health)
    systemd.end()
    assert heard(manager) == ["STATUS=the worker is not running", "WATCHDOG=1"]
    assert heard(manager) == ["STATUS=ok", "READY=1", "WATCHDOG=1"]
    assert heard(manager) == ["STATUS=ok", "WATCHDOG=1"]
    assert heard(manager) == [f"STATUS={HANGING.why}"]
    assert heard(manager) == ["STOPPING=1"]


def test_a_socket_of_the_abstract_namespace_is_reached_too() -> None:
    name = f"duerow-test-{os.getpid()}"
    with closing(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)) as listening:
        listening.bind(f"\0{name}")
        Systemd(f"@{name}").end()
        assert heard(listening) == ["STOPPING=1"]


def test_the_watchdog_decides_how_often_systemd_is_told() -> None:
    assert systemd_of({}) is None
    own = str(os.getpid())
    for environment, every in [
        ({}, liveness.EVERY),
        ({"WATCHDOG_USEC": "4000000"}, 2.0),
        ({"WATCHDOG_USEC": "4000000", "WATCHDOG_PID": own}, 2.0),
        ({"WATCHDOG_USEC": "4000000", "WATCHDOG_PID": "1"}, liveness.EVERY),
        ({"WATCHDOG_USEC": "90000000"}, liveness.EVERY),
    ]:
        systemd = systemd_of({"NOTIFY_SOCKET": "/run/notify", **environment})
        assert systemd is not None
        assert systemd.every == every


def test_a_manager_that_is_gone_stops_no_work(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    Systemd(str(tmp_path / "nobody")).report(READY)
    assert "cannot report the state of the workers to systemd" in caplog.text


def test_the_file_is_written_while_the_workers_live_and_removed_at_their_end(tmp_path: Path) -> None:
    path = tmp_path / "worker"
    file = HealthFile(path)
    assert json.loads(path.read_text()) == {"status": "the worker is not running"}
    file.report(READY)
    assert json.loads(path.read_text()) == {"status": "ok"}
    os.utime(path, (1, 1))
    file.report(HANGING)
    assert path.stat().st_mtime == 1
    file.report(READY)
    assert path.stat().st_mtime > 1
    file.end()
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_cannot_be_written_is_told_before_any_work(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="choose another --health-file"):
        HealthFile(tmp_path / "missing" / "worker")


def test_workers_are_reported_from_their_beginning_to_their_end(manager: socket.socket, tmp_path: Path) -> None:
    systemd = Systemd(str(tmp_path / "notify"))
    with reported([SimpleNamespace(health=READY)], [systemd]):
        assert heard(manager) == ["STATUS=ok", "READY=1", "WATCHDOG=1"]
    while (last := heard(manager)) != ["STOPPING=1"]:
        assert last == ["STATUS=ok", "WATCHDOG=1"]
