"""The newest Django, in an environment of its own: the locked one may have an older Python than it runs on."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from tests.contrib.test_django import settings_of
from tests.docs.pages import ROOT

pytestmark = [pytest.mark.soak, pytest.mark.timeout(1_200)]

PACKAGES = f"{ROOT}[django,aio,postgresql,encryption,cli,dashboard,http]"


def interpreter() -> str | None:
    """A Python that the newest Django runs on: this one, or the newest that is found."""
    if sys.version_info >= (3, 12):
        return sys.executable
    named = filter(None, [shutil.which(f"python3.{minor}") for minor in (14, 13, 12)])
    managed = sorted(map(str, Path.home().glob(".pyenv/versions/3.1[2-9].*/bin/python")), reverse=True)
    return next(filter(runs, [*named, *managed]), None)


def runs(python: str) -> bool:
    """Return whether it is Python, and not a command that only tells where one might be."""
    return subprocess.run([python, "-c", "import venv, sqlite3"], capture_output=True, check=False).returncode == 0


def run(*command: str | Path, **more: str) -> str:
    done = subprocess.run(command, cwd=ROOT, env={**os.environ, **more}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Python in an environment with the newest Django."""
    found = interpreter()
    if found is None:
        pytest.skip("the newest Django needs Python 3.12, and there is none here")
    folder = tmp_path_factory.mktemp("newest")
    run(found, "-m", "venv", folder)
    python = folder / "bin" / "python"
    run(python, "-m", "pip", "install", "--quiet", "--editable", PACKAGES, "django>=6.0")
    return python


@pytest.fixture(scope="module")
def djangos_source(python: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The source of that Django, with its tests."""
    folder = tmp_path_factory.mktemp("source")
    version = run(python, "-m", "django", "--version").strip()
    run(
        python,
        "-m",
        "pip",
        "download",
        "--quiet",
        "--no-deps",
        "--no-binary",
        ":all:",
        "-d",
        folder,
        f"django=={version}",
    )
    [archive] = folder.glob("*.tar.gz")
    with tarfile.open(archive) as packed:
        packed.extractall(folder, filter="data")
    return folder / archive.name.removesuffix(".tar.gz")


def test_the_newest_django_on_sqlite(python: Path, tmp_path: Path) -> None:
    database = json.dumps(settings_of(f"sqlite:///{tmp_path}/app.db", f"{tmp_path}/test.db"))
    assert "\nOK" in run(python, "-m", "tests.contrib.django_site", DUEROW_TEST_DJANGO=database)


def test_the_newest_django_on_postgresql(python: Path, postgresql_url: str) -> None:
    database = json.dumps(settings_of(postgresql_url, f"test_newest_{os.getpid()}"))
    assert "\nOK" in run(python, "-m", "tests.contrib.django_site", DUEROW_TEST_DJANGO=database)


def test_djangos_own_tests_of_task_backends(python: Path, djangos_source: Path, tmp_path: Path) -> None:
    database = json.dumps(settings_of(f"sqlite:///{tmp_path}/app.db", f"{tmp_path}/test.db"))
    tests = str(djangos_source / "tests")
    told = run(python, "-m", "tests.contrib.django_site.djangos_tests", tests, DUEROW_TEST_DJANGO=database)
    assert "\nOK" in told
    assert "left out 5 of" in told
