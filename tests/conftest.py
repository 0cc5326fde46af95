"""What all tests share."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

pytest.register_assert_rewrite("duerow.testing")  # so that a promise that is broken says what it found

pytest_plugins = ["tests.servers.fixtures", "tests.families", "tests.sizes", "duerow.testing.conformance.fixtures"]

# No test depends on how fast the machine is.
settings.register_profile("duerow", deadline=None)
settings.load_profile("duerow")

HERE = Path(__file__).parent

# Spark's processes import what tests and examples define; it has this from whichever test starts Java.
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (str(HERE.parent), os.environ.get("PYTHONPATH"))))


def pytest_configure(config: pytest.Config) -> None:
    """Let Spark spare what pays for large data alone; the long tests have it as users do."""
    if config.option.markexpr == "not soak":
        os.environ.setdefault("SPARK_CONF_DIR", str(HERE / "spark" / "quick"))


@pytest.fixture(autouse=True)
def terminating() -> Iterator[None]:
    """What a test has SIGTERM do ends with it: commands, run here in the test's process, set it for good."""
    before = signal.getsignal(signal.SIGTERM)
    yield
    if before is not None and signal.getsignal(signal.SIGTERM) is not before:
        signal.signal(signal.SIGTERM, before)


TOGETHER = {"tests/spark/": "spark", "tests/docs/": "spark", "tests/demo/": "demo"}
"""Folders whose tests share what is dear to make: a session of Spark, runs of the demo."""


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Where several processes share the tests, those that share more than servers are one process's."""
    from xdist.scheduler import LoadScopeScheduling

    class Scheduling(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            """Name the lot that a test is handed out in: with those like it, as many lots take long to count."""
            shared = (name for folder, name in TOGETHER.items() if nodeid.startswith(folder))
            return next(shared, nodeid.partition("[")[0])

    return Scheduling(config, log)
