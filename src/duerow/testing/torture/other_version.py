"""The program of another interpreter in a run: it lets its own version of duerow take part.

The text of this module is passed to that interpreter, whose duerow has an older or newer module like this, or none. So
it imports nothing from duerow at the top, and uses only what every version that can take part has: the roles, their
settings and the migrations. It receives instructions and answers as lines of JSON.
"""

from __future__ import annotations

import contextlib
import json
import os
import platform
import random
import signal
import sys
import threading
import time
from collections.abc import Callable, Generator, Mapping
from importlib import import_module
from itertools import count
from pathlib import Path
from typing import Any, Final

PACKAGE: Final = "duerow.testing.torture"

SQL_MIGRATIONS: Final = "duerow.stores.sql.migrations"
"""The module with the migrations of SQL databases; others have them in the module `schema` of their package."""

PAUSE: Final = 0.05

NO_WORKLOAD: Final = "it has no `duerow torture` whose processes could take part"


def migrations(url: str) -> Any:
    """Return the module with the MIGRATIONS that this version knows for a database."""
    from duerow.store import find_backend

    backend = find_backend(url)
    speaks_sql = hasattr(backend, "driving")
    return import_module(SQL_MIGRATIONS if speaks_sql else f"{type(backend).__module__}.schema")


def migrate(url: str, settings: Mapping[str, Any], dies_before: int | None, pause: float, told: Path) -> None:
    """Bring the tables up to this version, and write the names of the applied migrations to a file.

    Args:
        url: the database.
        settings: further arguments of `connect`.
        dies_before: the number of the statement before which this process is killed; the commit counts as the last
            one. None: it is not killed.
        pause: seconds for which it waits before each statement, as if the tables were large.
        told: the file.
    """
    import duerow
    from duerow.errors import StoreUnavailable
    from duerow.store import Settings, find_backend

    options = {name: value for name, value in settings.items() if name != "prefix"}
    while True:
        try:
            # Opened as `duerow migrate` does: `connect` would not return what was applied.
            opened = find_backend(url).open(url, Settings(prefix=settings["prefix"], options=options))
            with duerow.Database(*opened) as database:
                _disturb(database.store.schema, dies_before, pause)
                done = database.migrate()
        except StoreUnavailable:
            time.sleep(PAUSE)
        else:
            told.write_text("".join(f"{name}\n" for name in done))
            return


def _disturb(schema: Any, dies_before: int | None, pause: float) -> None:
    """Wait before each statement of a migration, and kill this process before one of them."""
    from duerow.plan import mapped

    plan_of = schema.migrate

    def disturbed() -> Generator[Any, Any, Any]:
        places = count(1)

        def reach_next() -> None:
            if next(places) == dies_before:
                os.kill(os.getpid(), signal.SIGKILL)

        def before(step: Any) -> Any:
            reach_next()
            time.sleep(pause)
            return step

        made = yield from mapped(plan_of(), before)
        reach_next()  # the commit
        return made

    schema.migrate = disturbed


def described(url: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return a description of this version; `unable` says why it cannot take part."""
    about: dict[str, Any] = {"python": platform.python_version()}
    try:
        import duerow

        about["duerow"] = duerow.__version__
    except ImportError as error:
        return {**about, "unable": f"it has no duerow: {error}"}
    try:
        parts = {name: import_module(f"{PACKAGE}.{name}") for name in ("environment", "ledger", "run", "consumer")}
    except ImportError:
        return {**about, "unable": NO_WORKLOAD}
    try:
        from duerow.store import Settings, find_backend

        find_backend(url).aopen(url, Settings(prefix=str(settings["prefix"])))  # this imports the drivers
        for name in ("duerow.sync.worker", "duerow.aio.worker"):  # otherwise each process would import them again
            import_module(name)
    except duerow.DuerowError as error:
        return {**about, "unable": str(error)}
    return {
        **about,
        "setting": [*parts["environment"].Setting.__dataclass_fields__],
        "line": [*parts["ledger"].Line.__dataclass_fields__],
        "queues": {name: sorted(parts["environment"].definition(name)) for name in parts["environment"].WORKED},
        "kinds": [*dict.fromkeys(parts["consumer"].KINDS)],
        "migrations": [name for name, _ in migrations(url).MIGRATIONS],
    }


def work(asked: Mapping[str, Any]) -> None:
    """Act as a process of the run until killed, or migrate."""
    setting = dict(asked["setting"])
    os.environ["PGAPPNAME"] = "duerow-torture"
    if asked["role"] == "migrator":
        migrate(setting["url"], asked["connecting"], asked["dies_before"], asked["pause"], Path(asked["told"]))
        return
    from duerow.errors import SchemaOutdated

    environment, run = import_module(f"{PACKAGE}.environment"), import_module(f"{PACKAGE}.run")
    if "traces" in setting:
        setting["traces"] = Path(setting["traces"])
    if setting.get("full"):
        import_module(f"{PACKAGE}.disks").be_full()
    if setting.get("clocks"):
        import_module(f"{PACKAGE}.clocks").be_wrong(random.Random(f"{setting['seed']} {setting['number']} clock"))
    arguments = [asked["kind"]] if asked["role"] == "consumer" else []
    ready = Path(asked["ready"]).touch
    luck = (*environment.OUT_OF_LUCK, *((SchemaOutdated,) if asked["waits"] else ()))
    while True:
        try:
            run.ROLES[asked["role"]](environment.Setting(**setting), *arguments, ready)
        except luck as error:
            if isinstance(error, SchemaOutdated):
                ready()  # it is working: it waits for the tables
            time.sleep(PAUSE)


def start(asked: Mapping[str, Any]) -> int:
    """Start a process; return its id."""
    host = os.getpid()
    pid = os.fork()
    if pid:
        return pid
    status = 1
    try:
        with Path(asked["log"]).open("ab") as file:
            os.dup2(file.fileno(), 2)
        threading.Thread(target=_end_with, args=(host,), daemon=True).start()
        work(asked)
        status = 0
    except BaseException:
        import traceback

        traceback.print_exc()
    finally:
        os._exit(status)


def _end_with(host: int) -> None:
    while os.getppid() == host:
        time.sleep(PAUSE)
    os.kill(os.getpid(), signal.SIGKILL)


def _exit_code(status: int) -> int:
    return os.waitstatus_to_exitcode(status)


class Starter:
    """On request, starts processes, ends them and reports how they ended."""

    def __init__(self) -> None:
        self._ended: dict[int, int] = {}
        self._alive: set[int] = set()

    def answer(self, asked: Mapping[str, Any]) -> Any:
        """Carry out a request, and return the answer."""
        do: dict[str, Callable[[], Any]] = {
            "describe": lambda: described(asked["url"], asked["settings"]),
            "start": lambda: self._start(asked),
            "kill": lambda: self._kill(asked["pid"]),
            "poll": lambda: self._poll(asked["pid"]),
        }
        return do[asked["do"]]()

    def end(self) -> None:
        """End all processes."""
        for pid in [*self._alive]:
            self._kill(pid)

    def _start(self, asked: Mapping[str, Any]) -> int:
        pid = start(asked)
        self._alive.add(pid)
        return pid

    def _kill(self, pid: int) -> int:
        if pid in self._alive:
            os.kill(pid, signal.SIGKILL)  # it has not been waited for, so the id still belongs to it
            self._note(pid, os.waitpid(pid, 0)[1])
        return self._ended[pid]

    def _poll(self, pid: int) -> int | None:
        if pid in self._alive:
            found, status = os.waitpid(pid, os.WNOHANG)
            if found:
                self._note(pid, status)
        return self._ended.get(pid)

    def _note(self, pid: int, status: int) -> None:
        self._alive.discard(pid)
        self._ended[pid] = _exit_code(status)


def main() -> None:
    """Answer requests until there are no more."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # printed text must not be taken for an answer
    questions = os.fdopen(os.dup(0), "r")
    with Path(os.devnull).open() as nothing:
        os.dup2(nothing.fileno(), 0)
    for number in (answers.fileno(), questions.fileno()):
        os.set_inheritable(number, False)
    host = Starter()
    with contextlib.suppress(KeyboardInterrupt):
        for line in questions:
            print(json.dumps(host.answer(json.loads(line))), file=answers, flush=True)
    host.end()


if __name__ == "__main__" and sys.argv[:1] == ["-c"]:
    main()
