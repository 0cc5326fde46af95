"""Install the wheel as a user would, with every Python 3.11 to 3.14 on this machine, and do what the pages show.

Each Python gets a bare virtual environment: the wheel and its dependencies, with which the examples of the README are
run, then the command line, which writes and runs a first application. Then each tutorial for an application is followed
in an environment of its own, with the extras that it names. Neither this tree nor the environment of the developers is
on their paths. Prints what was installed, and how long the first import takes.

    python -m tools.wheel_check [WHEEL]        without WHEEL it builds one
"""

from __future__ import annotations

import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from tests.docs.pages import DOCS, as_json, blocks

ROOT: Final = Path(__file__).parents[1]
VERSIONS: Final = ("3.11", "3.12", "3.13", "3.14")
IMPORTS: Final = 9
"""How often `import duerow` is timed, each time in a new process; the median counts."""

TIMED: Final = "import time; began = time.perf_counter(); import duerow; {}; print(time.perf_counter() - began)"

TUTORIALS: Final = ("tutorial.md", "tutorial-django.md", "tutorial-fastapi.md")
"""Pages that are followed with nothing but the wheel."""

EXTRAS: Final = re.compile(r"pip install 'duerow(\[[a-z,]+\])'")

OPENED: Final = """
import os
import django
os.environ["DJANGO_SETTINGS_MODULE"] = "mysite.settings"
django.setup()
from django.contrib.auth.models import User
from django.test import Client
client = Client(SERVER_NAME="localhost")
client.force_login(User.objects.get(username="ana"))
for address in ("/admin/", "/admin/duerow/queuesummary/", "/queues/", "/queues/queues/mail", "/queues/api/v1/queues"):
    assert client.get(address).status_code == 200, address
"""
"""Opens the pages of the project that Django's tutorial makes, as the user that it creates."""

PACKAGES: Final = """
from importlib.metadata import distributions
for one in sorted(distributions(), key=lambda one: one.name.lower()):
    size = sum(file.locate().stat().st_size for file in one.files or () if file.locate().exists())
    print(one.name, one.version, f"{size / 1e6:.1f} MB", sep="  ")
"""


class CheckFailed(Exception):
    """The installed wheel did not do what a page shows."""


def main(arguments: Sequence[str]) -> None:
    """Check each interpreter; end with an error if one fails, or if there is none."""
    with tempfile.TemporaryDirectory() as folder:
        wheel = Path(arguments[0]).resolve() if arguments else built(Path(folder) / "dist")
        found = dict(interpreters())
        for version in VERSIONS:
            if version not in found:
                print(f"Python {version}: not on this machine, not checked")
                continue
            try:
                check(found[version], wheel, Path(folder) / version)
            except CheckFailed as error:
                sys.exit(f"Python {version}: {error}")
            print(
                f"Python {version}: the README's examples and {len(TUTORIALS)} tutorials do what they say", flush=True
            )
    if not found:
        sys.exit("no Python 3.11 to 3.14 found")


def interpreters() -> Iterator[tuple[str, str]]:
    """Find an interpreter of each version: this one, those on the PATH, and those that uv or pyenv has installed."""
    for version in VERSIONS:
        uv = [sys.executable, "-m", "uv", "python", "find", "--no-project", "--no-python-downloads", version]
        asked = subprocess.run(uv, capture_output=True, text=True, check=False)
        pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"), "versions")
        candidates = [
            sys.executable,
            shutil.which(f"python{version}"),
            asked.stdout.strip(),
            *map(str, sorted(pyenv.glob(f"{version}.*/bin/python"), reverse=True)),
        ]
        found = next((one for one in candidates if one and is_version(one, version)), None)
        if found is not None:
            yield version, found


def is_version(interpreter: str, version: str) -> bool:
    """Return whether an interpreter is of this version; one that does not start, such as a shim of pyenv, is not."""
    program = [interpreter, "-c", "import sys; print('{}.{}'.format(*sys.version_info))"]
    done = subprocess.run(program, capture_output=True, text=True, check=False)
    return done.stdout.strip() == version


def built(folder: Path) -> Path:
    """Build the wheel by way of the source distribution, as an index that gets only that one would."""
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-d", folder], cwd=ROOT, check=True, stdout=2
    )
    (source,) = folder.glob("*.tar.gz")
    shutil.unpack_archive(source, folder / "source", filter="data")
    (unpacked,) = (folder / "source").iterdir()
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder], cwd=unpacked, check=True, stdout=2
    )
    (wheel,) = folder.glob("*.whl")
    return wheel


def check(interpreter: str, wheel: Path, folder: Path) -> None:
    """Install the wheel for one interpreter and run the examples."""
    python, work = bare(interpreter, folder / "readme")
    install(python, str(wheel))
    print(run([python, "-c", PACKAGES], work), end="")
    print(
        f"import duerow: {timed(python, 'duerow', work):.0f} ms; with connect: {timed(python, 'connect', work):.0f} ms"
    )
    examples(python, work)
    install(python, f"{wheel}[cli]")
    command = str(Path(python).with_name("duerow"))
    if run([command, "--version"], work).strip() != f"duerow {wheel.name.split('-')[1]}":
        raise CheckFailed("duerow --version names another version")
    run([command, "stats", "--db", "sqlite:///app.db"], work)
    run([command, "init", "first"], work)
    run([python, "messages.py", "ana@example.org"], work / "first")
    printed = run([command, "worker", "messages:mail", "--until", "empty"], work / "first")
    if printed != "to ana@example.org: welcome, friend!\n":
        raise CheckFailed(f"the first application printed {printed!r}")
    for name in TUTORIALS:
        follow(interpreter, wheel, name, folder / Path(name).stem)


def bare(interpreter: str, folder: Path) -> tuple[str, Path]:
    """Make an environment and an empty folder beside it; return its Python and the folder."""
    environment, work = folder / "venv", folder / "work"
    subprocess.run([interpreter, "-m", "venv", "--without-pip", environment], check=True)
    work.mkdir()
    return str(environment / "bin" / "python"), work


def follow(interpreter: str, wheel: Path, name: str, folder: Path) -> None:
    """Follow a tutorial with the wheel and the extras that it names."""
    page = DOCS / name
    (extras,) = EXTRAS.findall(page.read_text())
    python, work = bare(interpreter, folder)
    install(python, f"{wheel}{extras}")
    try:
        run([python, "-P", str(ROOT / "tools" / "page_trial.py")], work, as_json(page))
        if "django" in extras:
            run([python, "-c", OPENED], work)
    except CheckFailed as error:
        raise CheckFailed(f"docs/{name}: {error}") from error


def install(python: str, what: str) -> None:
    """Install into another environment with this one's pip, so that pip itself is not part of what is measured."""
    subprocess.run([sys.executable, "-m", "pip", "--python", python, "install", "--quiet", what], check=True)


def timed(python: str, what: str, work: Path) -> float:
    """Return the milliseconds that the import takes, or the first use of a name: the median of several processes."""
    program = TIMED.format("None" if what == "duerow" else f"duerow.{what}")
    return 1000 * statistics.median(float(run([python, "-c", program], work)) for _ in range(IMPORTS))


def examples(python: str, work: Path) -> None:
    """Run each example of the README, and compare what it prints."""
    shown = blocks(ROOT / "README.md")
    for number, block in enumerate(shown):
        if block.language != "python":
            continue
        printed = run([python, "-c", block.text], work)
        below = shown[number + 1] if number + 1 < len(shown) else None
        if below is not None and below.language == "text" and printed != below.text:
            raise CheckFailed(f"line {block.line} of the README printed {printed!r}, not {below.text!r}")


def run(command: Sequence[str], work: Path, given: str = "") -> str:
    """Run a program that sees nothing of this tree; return what it prints.

    Args:
        command: the program of an environment, and its arguments.
        work: the folder that it is in.
        given: what stands on its standard input.
    """
    ours = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "DUEROW_", "DJANGO_"))}
    ours["PATH"] = f"{Path(command[0]).parent}:{os.environ['PATH']}"
    ours["COLUMNS"] = "100"
    done = subprocess.run(command, cwd=work, env=ours, input=given, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise CheckFailed(f"{' '.join(command)[:200]} failed: {done.stderr}")
    return done.stdout


if __name__ == "__main__":
    main(sys.argv[1:])
