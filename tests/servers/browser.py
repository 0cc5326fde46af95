"""A real browser: Debian's Chromium, driven by Playwright."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from playwright.sync_api import Browser, sync_playwright

from tests.servers.process import ServerUnavailable

FLAGS: Final = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--process-per-site",  # what one page has compiled serves the next one
]


SHELL: Final = "chromium-headless-shell"
"""Chromium without its windows, tabs and buttons, which the other program draws even if nobody can see them."""

PROGRAMS: Final = (SHELL, "chromium")


def prepare() -> str:
    """Install Chromium's shell if the machine lacks it, and say which program will run.

    Raises:
        ServerUnavailable: it cannot be installed, and the whole browser is not there either.
    """
    if shutil.which(SHELL) is None:
        try:
            install()
        except ServerUnavailable:
            if found() is None:
                raise
    program = found()
    if program is None:
        raise ServerUnavailable(f"Debian's package {SHELL} brought no program of that name")
    return program


def found() -> str | None:
    """Return the path of the program that will run; None: the machine has none."""
    return next(filter(None, map(shutil.which, PROGRAMS)), None)


def install() -> None:
    """Install Chromium's shell; ServerUnavailable when that fails."""
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        raise ServerUnavailable(f"there is no Chromium: as root, run apt-get install {SHELL}")
    quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for command in (["update"], ["install", "-y", "--no-install-recommends", SHELL]):
        done = subprocess.run(["apt-get", "-qq", *command], env=quiet, capture_output=True, text=True)
        if done.returncode != 0:
            raise ServerUnavailable(f"Chromium cannot be installed: {done.stderr.strip()[-300:]}")


@contextmanager
def running() -> Iterator[Browser]:
    """A browser, for as long as the block runs."""
    program = found() or prepare()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=FLAGS)
        try:
            yield browser
        finally:
            browser.close()
