"""What all tests share."""

import fcntl
import gc
import hashlib
import os
import sys
from collections.abc import Callable, Generator, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from ssl import SSLContext
from types import SimpleNamespace
from typing import Any

import pymongo.settings_shared
import pytest
import typer.main
import typer.testing
from hypothesis import HealthCheck, settings
from pymysql.connections import Connection

from tests.commands_undone import commands_undone
from tests.docs.pages import DOCS
from tests.spark import quick_settings

pytest.register_assert_rewrite("duerow.testing")  # so that a promise that is broken says what it found

pytest_plugins = [
    "tests.servers.fixtures",
    "tests.families",
    "tests.sizes",
    "tests.spark.shared_session",
    "duerow.testing.conformance.fixtures",
]

# No test depends on how fast the machine is.
settings.register_profile("duerow", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("duerow")

HERE = Path(__file__).parent

COMPILED = HERE / "__pycache__" / f"all-{sys.implementation.cache_tag}-pytest-{pytest.__version__}"
"""Is there once all tests are compiled, for this Python and this pytest."""

# Spark's processes import what tests and examples define; it has this from whichever test starts Java.
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (str(HERE.parent), os.environ.get("PYTHONPATH"))))


def pytest_configure(config: pytest.Config) -> None:
    """Let Spark spare what pays for large data alone; the long tests have it as users do."""
    gc.disable()  # collecting thousands of tests makes no garbage, but has Python look for it again and again
    if config.option.markexpr == "not soak":
        quick_settings.set_up()
        Connection._create_ssl_ctx = _ssl_context(Connection._create_ssl_ctx)
        # PyMongo derives a key from the password for each client, and notes all lines of source that made the client.
        hashlib.pbkdf2_hmac = cache(hashlib.pbkdf2_hmac)
        pymongo.settings_shared.traceback = SimpleNamespace(format_stack=list)
        # It reads the signature of every command, for each call of one and for each list of them all.
        typer.main.get_command = typer.testing._get_command = cache(typer.main.get_command)
    if hasattr(config, "workerinput"):
        _tell_ends_alone(config)
    else:
        config.pluginmanager.register(FailuresAtOnce(config))


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Generator[None, object, object]:
    """In a new clone let one of several processes collect first: it compiles what the others then find compiled."""
    if not hasattr(session.config, "workerinput") or COMPILED.exists():
        return (yield)
    with Path(__file__).open() as turn:
        try:
            fcntl.flock(turn, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            fcntl.flock(turn, fcntl.LOCK_SH)  # all at once, when the first is done
        done = yield
        with suppress(OSError):  # where nothing that is compiled is kept
            COMPILED.touch()
        return done


def pytest_collection_finish() -> None:
    """Look for garbage from here on, and never among what was collected: it stays."""
    gc.freeze()
    gc.set_threshold(20_000)  # objects; looking at every 700 takes a tenth of all processor time
    gc.enable()


class FailuresAtOnce:
    """Names each failure when it happens: the end of a long log is often what is cut off."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            terminal = self._config.pluginmanager.get_plugin("terminalreporter")
            crash = getattr(report.longrepr, "reprcrash", None)
            said = crash.message.partition("\n")[0] if crash else ""
            terminal.write(f"\nError: {report.nodeid} failed at {report.when}: {said[:300]}\n", red=True)


def _tell_ends_alone(config: pytest.Config) -> None:
    """Have one of several processes tell the first one how tests end, and nothing of what goes well before and after.

    That would be four of six messages for each test, and take both of them as long as many a test.
    """
    interactor: Any = next(
        one for one in config.pluginmanager.get_plugins() if type(one).__name__ == "WorkerInteractor"
    )
    send = interactor.sendevent

    def send_ends(name: str, **more: Any) -> None:
        report = more.get("data", {})
        passed = name == "testreport" and report["outcome"] == "passed" and report["when"] != "call"
        if name not in ("logstart", "logfinish") and not (passed and config.option.durations is None):
            send(name, **more)

    interactor.sendevent = send_ends


def _ssl_context(create: Callable[[Any, Any], SSLContext]) -> Callable[[Any, Any], SSLContext]:
    """PyMySQL reads every certificate the machine trusts for each connection, which takes longer than most tests."""
    default = cache(lambda: create(None, {}))
    return lambda connection, given: create(connection, given) if given else default()


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    """What a command run here has set for good ends with the test that ran it."""
    with commands_undone():
        yield


FAMILIES = ("mongodb", "postgresql", "mariadb", "mysql", "sqlite")

LOTS = {
    "tests/stores/mongodb/": "mongodb",
    "tests/spark/": "spark",
    "tests/demo/test_demo.py": "spark",
    "tests/web/dashboard/": "dashboard",
    "tests/web/": "web",
    "tests/workers/": "workers",
    "tests/where/": "where",
    **{f"tests/stores/{family}/": family for family in FAMILIES},
    "tests/entity/": "entity",
    "tests/demo/": "demo",
    "tests/copies/": "copies",
    "tests/cli/": "cli",
    "tests/unit/": "unit",
    "tests/sql/": "sql",
    "tests/release/": "release",
}
"""Folders whose tests share what is dear to make: a browser, a session of Spark, a family's statements, parsed source.

A process compiles each statement once for each family and driver, which takes as long as most tests. Those that take
longest come first, so that none of them is the last to begin.
"""


def lot(nodeid: str) -> str | None:
    """Return the lot of a test that shares something dear with others."""
    if nodeid.startswith("tests/docs/test_examples.py"):
        page = DOCS / nodeid.partition("[")[2].removesuffix("]")
        return "spark" if page.is_file() and "duerow.spark" in page.read_text() else "docs"
    return next((name for folder, name in LOTS.items() if nodeid.startswith(folder)), None)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put lots before all others."""
    order = {name: place for place, name in enumerate(LOTS.values())}
    items.sort(key=lambda item: order.get(lot(item.nodeid) or "", len(order)))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Where several processes share the tests, a lot is one process's, and lots begin in the order of their tests."""
    from xdist.scheduler import LoadScopeScheduling

    class Scheduling(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            """Name what is handed out together: a lot, or the variants of a test."""
            return lot(nodeid) or nodeid.partition("[")[0]

    config.option.loadscopereorder = False
    return Scheduling(config, log)
