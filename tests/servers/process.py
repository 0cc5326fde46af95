"""Start a server process of our own, wait until it answers, and be sure that it ends."""

from __future__ import annotations

import os
import pwd
import re
import secrets
import shutil
import signal
import socket
import stat
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

PATIENCE = 300.0
"""Seconds that a server may take to answer for the first time, and to end."""


class ServerUnavailable(Exception):
    """This machine cannot run a server of the family; the message says what is missing."""


def given_url(family: str) -> str | None:
    """The URL of a server that the caller runs, from DUEROW_TEST_<FAMILY>_URL; None when unset."""
    return os.environ.get(f"DUEROW_TEST_{family.upper()}_URL") or None


def account(*names: str) -> str | None:
    """The first of these users that exists, since database servers refuse root; None when we are not root."""
    if os.geteuid() != 0:
        return None
    for name in names:
        try:
            return pwd.getpwnam(name).pw_name
        except KeyError:
            continue
    raise ServerUnavailable(f"a database server does not run as root, and there is no user named {' or '.join(names)}")


def cache_folder() -> Path:
    """Where fetched servers are kept, which are run later; root's is open to the users that it runs them as.

    Raises:
        ServerUnavailable: somebody else could put a program there.
    """
    folder = Path("/var/cache/duerow")
    if os.geteuid() != 0:
        folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "duerow"
    folder.mkdir(mode=0o755, parents=True, exist_ok=True)
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid() or found.st_mode & 0o022:
        raise ServerUnavailable(
            f"{folder} belongs to another user, or others can write to it; programs are run from there: remove it"
        )
    return folder


def new_password() -> str:
    """A password for one server: other users of the machine reach its port as well."""
    return secrets.token_hex(16)


def write_secret(path: Path, text: str, owner: str | None) -> Path:
    """Write a file that nobody but `owner`, or the current user, can read."""
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as secret:
        secret.write(text)
    if owner:
        shutil.chown(path, owner)
    return path


def free_port() -> int:
    """A port of 127.0.0.1 that nobody listened on a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def workspace(family: str, owner: str | None) -> Iterator[Path]:
    """A directory for one server, belonging to `owner`; removed at the end, as are those that killed runs left."""
    sweep(family)
    path = Path(tempfile.mkdtemp(prefix=f"duerow-{family}-{os.getpid()}-"))
    try:
        if owner:
            shutil.chown(path, owner)
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


def sweep(family: str) -> None:
    """Remove the directories of runs whose process is gone."""
    for path in Path(tempfile.gettempdir()).glob(f"duerow-{family}-*-*"):
        pid = re.fullmatch(rf"duerow-{family}-(\d+)-\w+", path.name)
        if pid and not Path("/proc", pid[1]).exists():
            shutil.rmtree(path, ignore_errors=True)


def command_as(owner: str | None, command: Sequence[str | Path], dies_by: signal.Signals | None = None) -> list[str]:
    """The command, run as `owner`, and ended by the signal `dies_by` when this process ends in whatever way."""
    words = ["setpriv"]
    if owner:
        user = pwd.getpwnam(owner)
        words += [f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups"]
    if dies_by:
        words.append(f"--pdeathsig={dies_by.name}")
    return [*(words if len(words) > 1 else []), *(str(word) for word in command)]


def may_run(owner: str | None, program: Path) -> bool:
    """Whether `owner` can reach the program and execute it."""
    return subprocess.run(command_as(owner, ["test", "-x", program]), cwd="/").returncode == 0


def run(
    owner: str | None,
    command: Sequence[str | Path],
    env: Mapping[str, str] | None = None,
    through: Sequence[str] = (),
) -> None:
    """Run a set-up command, `through` another one, to its end; what it printed is part of the error when it fails."""
    done = subprocess.run(
        [*through, *command_as(owner, command)],
        cwd="/",
        env={**os.environ, **(env or {})},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    if done.returncode:
        raise ServerUnavailable(f"{Path(str(command[0])).name} failed:\n{done.stdout[-2000:]}")


@contextmanager
def serving(
    command: Sequence[str | Path],
    home: Path,
    answers: Callable[[], object],
    owner: str | None = None,
    stop_by: signal.Signals = signal.SIGTERM,
    env: Mapping[str, str] | None = None,
    through: Sequence[str] = (),
) -> Iterator[subprocess.Popen[bytes]]:
    """Run a server until the block ends; yield its process.

    Args:
        command: The server, to stay in the foreground.
        home: Its working directory, where its log goes.
        answers: Called again and again until it raises nothing.
        owner: The user to run it as; None is the current one.
        stop_by: The signal that makes it end at once.
        env: What it needs in its environment besides ours.
        through: A command that becomes the one that it is given, such as `nsenter`.
    """
    log = home / "server.log"
    with log.open("ab") as output:
        process = subprocess.Popen(
            [*through, *command_as(owner, command, dies_by=stop_by)],
            cwd=home,
            env={**os.environ, **(env or {})},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # Ctrl-C is for the tests; they stop the server afterwards.
        )
    try:
        wait_until(answers, process, log)
        yield process
    finally:
        stop(process, stop_by)


def wait_until(answers: Callable[[], object], process: subprocess.Popen[bytes], log: Path) -> None:
    """Return once the server answers; ServerUnavailable with the end of its log when it ends or takes too long."""
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            answers()
        except Exception as error:
            if process.poll() is None and time.monotonic() < deadline:
                time.sleep(0.05)
                continue
            end = log.read_text(errors="replace")[-2000:]
            raise ServerUnavailable(f"the server did not answer ({error}); its log ends:\n{end}") from error
        return


def stop(process: subprocess.Popen[bytes], by: signal.Signals) -> None:
    """End the process by the signal, by SIGKILL if it does not listen."""
    if process.poll() is None:
        process.send_signal(by)
    try:
        process.wait(PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
