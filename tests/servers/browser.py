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


def prepare() -> str:
    """Install Chromium if the machine has none, and say where it is; ServerUnavailable when that fails."""
    found = shutil.which("chromium")
    if found is not None:
        return found
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        raise ServerUnavailable("there is no Chromium: as root, run apt-get install chromium")
    quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for command in (["update"], ["install", "-y", "--no-install-recommends", "chromium"]):
        done = subprocess.run(["apt-get", "-qq", *command], env=quiet, capture_output=True, text=True)
        if done.returncode != 0:
            raise ServerUnavailable(f"Chromium cannot be installed: {done.stderr.strip()[-300:]}")
    found = shutil.which("chromium")
    if found is None:
        raise ServerUnavailable("Debian's package chromium brought no program of that name")
    return found


@contextmanager
def running() -> Iterator[Browser]:
    """A browser, for as long as the block runs."""
    program = prepare()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=FLAGS)
        try:
            yield browser
        finally:
            browser.close()
