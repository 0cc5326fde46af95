"""Reports the health of workers to their process manager: to systemd by its socket, or in a file for other probes.

The protocol of the socket is a line of text in a datagram (sd_notify(3)), so it needs no library.
"""

from __future__ import annotations

import logging
import os
import socket
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, Protocol

import msgspec

from duerow.errors import ConfigurationError
from duerow.worker.health import Health, health_of_all

LOG: Final = logging.getLogger("duerow.telemetry")

EVERY: Final = 5.0
"""Seconds between two reports, unless systemd asks for them more often."""

AT_FIRST: Final = 0.1
"""Seconds between two looks until the workers are ready for the first time."""


class Reporter(Protocol):
    """Something that receives reports about the health of the workers."""

    every: float

    def report(self, health: Health) -> None:
        """Report the health of the workers."""

    def end(self) -> None:
        """Report that the workers have ended."""


class HealthFile:
    """A file that is rewritten while the workers are alive, so that its age shows if they hang; removed when they end.

    Args:
        path: the file.

    Raises:
        ConfigurationError: it cannot be written.
    """

    every = EVERY

    def __init__(self, path: Path) -> None:
        self._path = path
        self._write("the worker is not running")

    def report(self, health: Health) -> None:
        """Rewrite the file, unless a worker hangs."""
        if health.alive:
            self._write("ok" if health.ready else health.why)

    def end(self) -> None:
        """Remove the file."""
        self._path.unlink(missing_ok=True)

    def _write(self, status: str) -> None:
        # Written under another name and renamed, so that a probe never reads half of it.
        written = self._path.with_name(f".{self._path.name}.{os.getpid()}")
        try:
            written.write_bytes(msgspec.json.encode({"status": status}) + b"\n")
            written.replace(self._path)
        except OSError as error:
            raise ConfigurationError(
                f"the health file {self._path} cannot be written: {error.strerror}; choose another --health-file"
            ) from error


class Systemd:
    """The service manager that started this process and waits for its reports; see sd_notify(3).

    Args:
        address: the socket's path, or its name in the abstract namespace after `@`.
        every: seconds between two reports.
    """

    def __init__(self, address: str, every: float = EVERY) -> None:
        self.every = every
        self._address = f"\0{address[1:]}" if address.startswith("@") else address
        self._ready = False

    def report(self, health: Health) -> None:
        """Report once that the workers are ready, then their state; the watchdog hears nothing if a worker hangs."""
        lines = [f"STATUS={health.why}"]
        if health.ready and not self._ready:
            self._ready = True
            lines.append("READY=1")
        if health.alive:
            lines.append("WATCHDOG=1")
        self._send(lines)

    def end(self) -> None:
        """Report that the process is ending."""
        self._send(["STOPPING=1"])

    def _send(self, lines: Sequence[str]) -> None:
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as datagrams:
                datagrams.connect(self._address)
                datagrams.sendall("\n".join(lines).encode())
        except OSError as error:  # no reason to stop working; if systemd needs the report, it will complain itself
            LOG.warning("cannot report the state of the workers to systemd: %s", error)


def systemd_of(environment: Mapping[str, str]) -> Systemd | None:
    """Return the reporter to systemd, from a service's environment; None: systemd does not wait for reports."""
    address = environment.get("NOTIFY_SOCKET")
    if not address:
        return None
    microseconds, process = environment.get("WATCHDOG_USEC"), environment.get("WATCHDOG_PID")
    if not microseconds or process not in (None, str(os.getpid())):
        return Systemd(address)
    return Systemd(address, min(EVERY, int(microseconds) / 1e6 / 2))


def reporters_of(file: Path | None, environment: Mapping[str, str]) -> list[Reporter]:
    """Return the reporters for this process's workers: the file, if one is named, and systemd, if it waits for reports.

    Raises:
        ConfigurationError: the file cannot be written.
    """
    systemd = systemd_of(environment)
    return [*([] if file is None else [HealthFile(file)]), *([] if systemd is None else [systemd])]


@contextmanager
def reported(workers: Sequence[Any], reporters: Sequence[Reporter]) -> Iterator[None]:
    """Report the health of workers within the block, from a separate thread."""
    if not reporters:
        yield
        return
    ended = threading.Event()
    thread = threading.Thread(target=_report, args=(workers, reporters, ended), name="duerow-liveness", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
        for reporter in reporters:
            reporter.end()


def _report(workers: Sequence[Any], reporters: Sequence[Reporter], ended: threading.Event) -> None:
    every = min(one.every for one in reporters)
    was_ready = False
    while not ended.is_set():
        health = health_of_all(worker.health for worker in workers)
        was_ready = was_ready or health.ready
        for reporter in reporters:
            try:
                reporter.report(health)
            except ConfigurationError as error:  # such as a full disk: the age of the file shows it
                LOG.warning("%s", error)
        ended.wait(every if was_ready else min(every, AT_FIRST))
