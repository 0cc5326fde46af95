"""Where the processes of a run work: in this interpreter, or in another one with its own version of duerow."""

from __future__ import annotations

import json
import platform
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Protocol

import duerow
from duerow.errors import ConfigurationError
from duerow.store.compatibility import is_beyond
from duerow.testing.torture import other_version
from duerow.testing.torture.consumer import KINDS, consume
from duerow.testing.torture.environment import WORKED, Setting, definition
from duerow.testing.torture.ledger import Line
from duerow.testing.torture.operation import operate
from duerow.testing.torture.producer import produce
from duerow.testing.torture.upgrade import LOG
from duerow.testing.torture.worker_process import be, be_migrator

ROLES: Final[Mapping[str, Callable[..., None]]] = {"producer": produce, "consumer": consume, "operator": operate}

LOOK: Final = 0.02
"""Seconds between checks of whether a process of another interpreter has ended."""

OURS: Final = ("known", "outdated")
"""The fields of a setting that only processes of this version understand."""


class Side(Protocol):
    """Starts processes that work with one version of duerow.

    Attributes:
        name: the version, for people.
        kinds: the kinds of consumers that it has.
        migrations: the names of the migrations that it knows, oldest first.
    """

    name: str
    kinds: Sequence[str]
    migrations: Sequence[str]

    def start(self, role: str, kind: str, setting: Setting) -> tuple[Any, Any]:
        """Start a process; return it and the object through which it reports that it has begun."""
        ...

    def start_migrator(self, setting: Setting, dies_before: int | None, pause: float, told: Path) -> Any:
        """Start a process that migrates the tables and ends; see `other_version.migrate`."""
        ...

    def close(self) -> None:
        """End everything that is still running."""
        ...


class Here:
    """See `Side`: this interpreter.

    Args:
        context: starts processes.
        log: the file to which they write their errors.
        url: the database.
    """

    def __init__(self, context: Any, log: Path, url: str) -> None:
        self._context, self._log = context, log
        self.name = f"duerow {duerow.__version__} on Python {platform.python_version()} (here)"
        self.kinds: Sequence[str] = KINDS
        self.migrations: Sequence[str] = [name for name, _ in other_version.migrations(url).MIGRATIONS]

    def start(self, role: str, kind: str, setting: Setting) -> tuple[Any, Any]:
        """See Side."""
        ours, theirs = self._context.Pipe(duplex=False)
        arguments = (setting, kind) if role == "consumer" else (setting,)
        # Not a daemon, because it may have children.
        process = self._context.Process(target=be, args=(self._log, theirs, ROLES[role], *arguments))
        process.start()
        theirs.close()
        return process, ours

    def start_migrator(self, setting: Setting, dies_before: int | None, pause: float, told: Path) -> Any:
        """See Side."""
        process = self._context.Process(target=be_migrator, args=(self._log, setting, dies_before, pause, told))
        process.start()
        return process

    def close(self) -> None:
        """See Side."""


class There:
    """See `Side`: another interpreter.

    It runs the text of `other_version`, which starts and ends processes there on request.

    Args:
        python: the interpreter, such as the `bin/python` of a virtual environment.
        folder: the folder in which it and its processes write.
        url: the database.
        settings: further arguments of `connect`.

    Raises:
        ConfigurationError: it cannot be started, or its version of duerow cannot take part.
    """

    def __init__(self, python: str, folder: Path, url: str, settings: Mapping[str, Any]) -> None:
        self._python, self._folder, self.log = python, folder, folder / LOG
        text = Path(other_version.__file__).read_text()
        try:
            with self.log.open("ab") as log:
                # -I: the other interpreter must not use this interpreter's path.
                self._host = subprocess.Popen(  # noqa: S603 - the interpreter is the user's own
                    [python, "-I", "-c", text], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True
                )
        except OSError as error:
            raise ConfigurationError(f"{python} cannot be started: {error.strerror}") from error
        self._started = 0
        try:
            about = self.ask("describe", url=url, settings=settings)
            check_able(about, python)
        except BaseException:
            self.close()
            raise
        self.name = f"duerow {about['duerow']} on Python {about['python']} (beside)"
        self.kinds: Sequence[str] = [kind for kind in about["kinds"] if kind in KINDS]
        self.migrations: Sequence[str] = about["migrations"]
        self._fields = frozenset(about["setting"])

    def start(self, role: str, kind: str, setting: Setting) -> tuple[Any, Any]:
        """See Side."""
        ready = self._file("ready")
        pid = self.ask("start", role=role, kind=kind, ready=str(ready), **self._told(setting))
        return OtherProcess(self, pid), ReadyFile(ready)

    def start_migrator(self, setting: Setting, dies_before: int | None, pause: float, told: Path) -> Any:
        """See Side."""
        terms = {"dies_before": dies_before, "pause": pause, "told": str(told), "connecting": setting.all_settings}
        return OtherProcess(self, self.ask("start", role="migrator", **terms, **self._told(setting)))

    def ask(self, what: str, **more: Any) -> Any:
        """Return the other interpreter's answer.

        Raises:
            ConfigurationError: the interpreter has ended.
        """
        asking, answering = self._host.stdin, self._host.stdout
        assert asking is not None
        assert answering is not None
        try:
            asking.write(json.dumps({"do": what, **more}) + "\n")
            asking.flush()
            return json.loads(answering.readline())
        except (OSError, ValueError) as error:
            raise ConfigurationError(
                f"the interpreter {self._python} ended by itself:\n{self.log.read_text()[-2_000:]}"
            ) from error

    def close(self) -> None:
        """See Side."""
        for end in (self._host.stdin, self._host.stdout):
            if end is not None:
                with suppress(BrokenPipeError):  # it has ended without reading its requests
                    end.close()
        self._host.wait()

    def check_options(self, setting: Setting) -> None:
        """Raise ConfigurationError if its processes do not support these settings."""
        unknown = {*Setting.__dataclass_fields__} - self._fields - {*OURS}
        missing = ", ".join(sorted(name for name in unknown if getattr(setting, name)))
        if missing:
            raise ConfigurationError(f"{self.name} cannot take part in a run with {missing}, which it does not have")

    def _told(self, setting: Setting) -> dict[str, Any]:
        fields = {name: getattr(setting, name) for name in self._fields if name in Setting.__dataclass_fields__}
        told = {name: value for name, value in fields.items() if name not in OURS}
        if "traces" in told:
            told["traces"] = str(setting.traces)
        return {"setting": told, "waits": setting.outdated, "log": str(self.log)}

    def _file(self, what: str) -> Path:
        self._started += 1
        return self._folder / f"{what}-{self._started}"


@dataclass
class OtherProcess:
    """A process of another interpreter, with the parts of a `multiprocessing` process that are used."""

    _side: There
    pid: int
    _code: int | None = None

    @property
    def exitcode(self) -> int | None:
        """How it ended; None if it has not ended."""
        if self._code is None:
            self._code = self._side.ask("poll", pid=self.pid)
        return self._code

    def kill(self) -> None:
        """Kill it and wait until it has ended."""
        self._code = self._side.ask("kill", pid=self.pid)

    def join(self) -> None:
        """Wait until it has ended."""
        while self.exitcode is None:
            time.sleep(LOOK)


@dataclass
class ReadyFile:
    """A file that a process of another interpreter creates to report that it has begun."""

    _path: Path

    def poll(self) -> bool:
        """Return whether the process has begun."""
        return self._path.exists()

    def close(self) -> None:
        """Remove the file."""
        self._path.unlink(missing_ok=True)


def check_able(about: Mapping[str, Any], python: str) -> None:
    """Raise ConfigurationError unless the processes of a version can take part and keep the same ledger.

    Args:
        about: its description by `other_version.described`.
        python: its interpreter.
    """
    version = f"duerow {about['duerow']}" if "duerow" in about else "the interpreter"
    why = about.get("unable")
    queues = {name: sorted(definition(name)) for name in WORKED}
    if not why and ({*about["line"]} != {*Line.__dataclass_fields__} or about["queues"] != queues):
        why = "its `duerow torture` keeps another ledger, or uses other queues, than the one here"
    if why:
        raise ConfigurationError(f"{version} in {python} cannot take part: {why}")


def ordered(here: Side, beside: Side) -> tuple[Side, Side]:
    """Return the side that knows fewer migrations, then the other one.

    Raises:
        ConfigurationError: they cannot work side by side.
    """
    older, newer = sorted((here, beside), key=lambda side: len(side.migrations))
    known, made = len(older.migrations), newer.migrations
    if [*made[:known]] != [*older.migrations]:
        raise ConfigurationError(
            f"{older.name} and {newer.name} cannot work side by side: they make different tables (migrations "
            f"{', '.join(older.migrations)} and {', '.join(made)})"
        )
    if is_beyond(dict(enumerate(made, 1)), known):
        raise ConfigurationError(
            f"{older.name} cannot work beside {newer.name}: it knows tables of version {known}, and refuses those of "
            f"version {len(made)} ({', '.join(made[known:])})"
        )
    return older, newer
