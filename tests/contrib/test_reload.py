"""`manage.py runworker --reload` begins anew with what was changed."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.docs.pages import ROOT

PATIENCE = 300.0


@pytest.mark.soak
def test_a_worker_that_reloads_runs_the_changed_handler(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "examples" / "django_shop", tmp_path / "site")
    folder, log = tmp_path / "site", tmp_path / "log"
    environment = {**os.environ, "PYTHONPATH": str(folder), "DJANGO_SETTINGS_MODULE": "shop.settings"}

    def manage(*command: str) -> str:
        given = [sys.executable, "manage.py", *command]
        done = subprocess.run(given, cwd=folder, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def told(text: str, times: int, changed: Path | None = None) -> None:
        until = time.monotonic() + PATIENCE
        while log.read_text().count(text) < times:
            assert time.monotonic() < until, log.read_text()
            if changed is not None:  # again, since what changes before it first looks is no change
                changed.touch()
            time.sleep(0.5)

    manage("migrate")
    with log.open("w") as output:
        command = [sys.executable, "manage.py", "runworker", "--reload"]
        worker = subprocess.Popen(command, cwd=folder, env=environment, stdout=output, stderr=output, process_group=0)
    try:
        told("duerow is working on", 1)
        handlers = folder / "shop" / "queues.py"
        handlers.write_text(handlers.read_text().replace('F("count") + 1', 'F("count") + 100'))
        told("duerow is working on", 2, handlers)
        manage("shell", "-c", "from shop.queues import ledger; ledger.push({'item': 'lamp'})")
        told("fetched 1 of ledger", 1)
        until = time.monotonic() + PATIENCE
        counted = "from shop.models import Sold; print('sold', sum(Sold.objects.values_list('count', flat=True)))"
        while "sold 100" not in (found := manage("shell", "-c", counted)):
            assert time.monotonic() < until, found
    finally:
        os.killpg(worker.pid, signal.SIGTERM)
        worker.wait(PATIENCE)
