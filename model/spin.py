"""Spin: found on this machine or fetched from Debian, and run on one model with given bounds."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from model.catalog import Bounds
from tests.servers.debian import apt
from tests.servers.process import cache_folder
from tests.servers.process import run as run_to_its_end

DEPTH = 4_000_000
"""The longest run of a model that is followed."""

EXHAUSTIVE = ("-DSAFETY", "-DCOLLAPSE")
FAIR = ("-DCOLLAPSE",)
"""Looks for runs that go on for ever without progress, although each process that always can take a step takes one."""

SWARM = ("-DSAFETY", "-DBITSTATE", "-DP_RAND", "-DT_RAND")


class ModelError(Exception):
    """A model could not be explored; the message says why."""


@dataclass(frozen=True)
class Found:
    """What Spin found in a model.

    Attributes:
        error: the first violation; None: there is none.
        states: how many states it looked at.
        seconds: how long it took.
        unreached: lines of the model that no run came to.
        story: the file with the steps that lead to the violation, kept in `site` of the run.
    """

    error: str | None
    states: int
    seconds: float
    unreached: tuple[str, ...]
    story: str = ""


def program() -> str:
    """Return Spin, fetched from Debian's package into the user's cache folder if this machine has none.

    Raises:
        ModelError: there is no Spin and none can be fetched, or no C compiler.
    """
    if not shutil.which("gcc"):
        raise ModelError("Spin makes C programs of models, and there is no gcc: install gcc")
    if found := shutil.which("spin"):
        return found
    cache = cache_folder() / "spin"
    there = cache / "root/usr/bin/spin"
    if not there.exists():
        if not shutil.which("apt-get"):
            raise ModelError("no Spin on this machine, and no apt-get to fetch it: install spin (spinroot.com)")
        print("fetching Spin from Debian's packages, for the models alone", file=sys.stderr, flush=True)
        shutil.rmtree(cache, ignore_errors=True)
        for folder in ("lists/partial", "packages", "root"):
            (cache / folder).mkdir(parents=True)
        apt(cache, "update")
        apt(cache, "download", "spin")
        for package in (cache / "packages").glob("*.deb"):
            run_to_its_end(None, ["dpkg", "-x", package, cache / "root"])
    return str(there)


def explore(
    spin: str,
    path: Path,
    bounds: Bounds,
    how: tuple[str, ...] | None = None,
    seed: int = 0,
    seconds: float | None = None,
) -> Found:
    """Explore a model.

    Args:
        spin: the program.
        path: the model.
        bounds: the values of its macros.
        how: the kind of search, as options of the compiler: EXHAUSTIVE, FAIR or SWARM; None: FAIR if the bounds have
            PROGRESS, else EXHAUSTIVE.
        seed: what makes a swarm's search another one.
        seconds: how long a search of a swarm may take; None: until it is over.

    Raises:
        ModelError: the model is no correct Promela, or not all states could be looked at.
    """
    how = how or (FAIR if "PROGRESS" in bounds else EXHAUSTIVE)
    macros = [f"-D{name}={value}" for name, value in sorted(bounds.items())]
    with TemporaryDirectory(prefix="duerow-model-") as site:
        _done(_run([spin, "-a", *macros, path], site), path)
        _done(
            _run(["gcc", "-O1", "-w", *how, *([f"-DRANDOMIZE={seed}"] if seed else []), "-o", "pan", "pan.c"], site),
            path,
        )
        options = {SWARM: [f"-RS{seed}", "-w28"], FAIR: ["-a", "-f", "-w22"]}.get(how, ["-w22"])
        text = _run(["./pan", f"-m{DEPTH if how is not SWARM else 100_000}", *options], site, seconds).stdout
        found = _read(text, path, complete=seconds is None)
        if found.error is None or not (trails := list(Path(site).glob("*.trail"))):
            return found
        story = _run([spin, *macros, "-k", trails[0].name, "-p", "-g", path], site).stdout
        return Found(found.error, found.states, found.seconds, found.unreached, story)


def _read(text: str, path: Path, complete: bool) -> Found:
    error = re.search(r"^pan:\d+: (.+?)(?: \(at depth (\d+)\))?$", text, re.MULTILINE)
    states = re.search(r"(\d+(?:\.\d+)?(?:e\+\d+)?) states, stored", text)
    if "max search depth too small" in text or (states is None and complete):
        raise ModelError(f"{path.name}: not all states could be explored:\n{text[-2000:]}")
    unreached = re.findall(rf"{re.escape(path.name)}:(\d+), state \d+, \"(.*)\"", text)
    elapsed = re.search(r"elapsed time ([\d.e+-]+) seconds", text)
    return Found(
        None if error is None else error[1],
        int(float(states[1])) if states else 0,
        float(elapsed[1]) if elapsed else 0.0,
        tuple(f"line {line}: {what}" for line, what in unreached),
    )


def _run(command: Sequence[str | Path], site: str, seconds: float | None = None) -> subprocess.CompletedProcess[str]:
    """Run a command in the folder, as one that lets others go first; after `seconds` it is asked to end."""
    limit = [] if seconds is None else ["timeout", "--signal=INT", str(seconds)]
    return subprocess.run(
        ["nice", "-n", "10", *limit, *map(str, command)],
        cwd=site,
        env={**os.environ, "LC_ALL": "C"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def _done(done: subprocess.CompletedProcess[str], path: Path) -> None:
    if done.returncode or "Error:" in done.stdout:
        raise ModelError(f"{path.name} cannot be explored:\n{done.stdout[-2000:]}")
