"""Programs from Debian's packages, unpacked into the user's cache folder.

The packages are unpacked, not installed: that needs no rights, starts no service and touches none that runs.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.servers.process import ServerUnavailable, cache_folder, run

APT = ["Debug::NoLocking=1", "APT::Sandbox::User=", "Dir::Cache::pkgcache=", "Dir::Cache::srcpkgcache="]


def unpacked(name: str, packages: Sequence[str]) -> Path:
    """The folder that stands for `/`, with these packages and what they need; fetched the first time."""
    cache = cache_folder() / name
    if not (cache / "complete").exists():
        _fetch(cache, name, packages)
        (cache / "complete").touch()
    return cache / "root"


def environment(root: Path) -> dict[str, str]:
    """What programs in a folder need to find their libraries; nothing if it is `/`."""
    if root == Path("/"):
        return {}
    folders = [str(folder) for folder in (root / "usr/lib", root / "lib") if folder.exists()]
    libraries = [str(path) for folder in folders for path in Path(folder).glob("*-linux-gnu*")]
    return {"LD_LIBRARY_PATH": os.pathsep.join(libraries)}


def _fetch(cache: Path, name: str, packages: Sequence[str]) -> None:
    """Download the packages and those that they need and this machine lacks, and unpack them into `cache`/root."""
    if not shutil.which("apt-get"):
        raise ServerUnavailable(f"no {name} on this machine, and no apt-get to fetch one: install {packages[0]}")
    print(f"fetching {name} from Debian's packages, for the tests alone", file=sys.stderr, flush=True)
    shutil.rmtree(cache, ignore_errors=True)
    for folder in ("lists/partial", "packages", "root"):
        (cache / folder).mkdir(parents=True)
    apt(cache, "update")
    plan = apt(cache, "install", "--simulate", "--no-install-recommends", *packages)
    missing = re.findall(r"^Inst (\S+)", plan, re.MULTILINE)
    apt(cache, "download", *sorted({*missing, *packages}))
    for package in (cache / "packages").glob("*.deb"):
        run(None, ["dpkg", "-x", package, cache / "root"])


def apt(cache: Path, *words: str) -> str:
    """Run apt-get with package lists of our own, so that no rights are needed and the machine's stay as they are."""
    settings = [f"Dir::State::lists={cache / 'lists'}", *APT]
    done = subprocess.run(
        ["apt-get", "-q", *(f"-o{setting}" for setting in settings), *words],
        cwd=cache / "packages",
        env={**os.environ, "LC_ALL": "C"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    if done.returncode:
        raise ServerUnavailable(f"apt-get {words[0]} failed:\n{done.stdout[-2000:]}")
    return done.stdout
