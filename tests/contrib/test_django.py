"""The tests of a project of Django's, run by Django's own runner in a process of its own, on each database."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import make_url

from tests.docs.pages import ROOT
from tests.processes import run_program

ENGINES = {
    "sqlite": "django.db.backends.sqlite3",
    "postgresql": "django.db.backends.postgresql",
    "mysql": "django.db.backends.mysql",
}


def settings_of(url: str, test_name: str) -> dict[str, Any]:
    """Django's settings of a database, with the name of the one that its tests make and remove."""
    place = make_url(url)
    return {
        "ENGINE": ENGINES[place.get_backend_name()],
        "NAME": place.database,
        "USER": place.username or "",
        "PASSWORD": place.password or "",
        "HOST": place.host or "",
        "PORT": str(place.port or ""),
        "TEST": {"NAME": test_name},
    }


def run_site(folder: Path, database: dict[str, Any], *labels: str) -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "DUEROW_TEST_DJANGO": json.dumps(database)}
    done = run_program("tests.contrib.django_site", labels, folder, environment)
    assert done.returncode == 0, done.stderr
    assert "\nOK" in done.stderr, done.stderr


def test_django_on_sqlite(tmp_path: Path) -> None:
    run_site(tmp_path, settings_of(f"sqlite:///{tmp_path}/app.db", f"{tmp_path}/test.db"))


def test_django_on_postgresql(tmp_path: Path, postgresql_url: str) -> None:
    """All but the pages, which have nothing of their own on a database."""
    parts = ("tasks", "transactions", "workers", "pages.Checks", "pages.Migrations")
    labels = [f"tests.contrib.django_site.{part}" for part in parts]
    run_site(tmp_path, settings_of(postgresql_url, f"test_{os.getpid()}"), *labels)


@pytest.mark.soak
def test_django_on_mariadb(tmp_path: Path, mariadb_url: str) -> None:
    run_site(tmp_path, settings_of(mariadb_url, f"test_{os.getpid()}"))


def test_djangos_own_tests_in_memory(tmp_path: Path) -> None:
    """Where most projects run their tests: only what is in one test's transaction has to work there."""
    labels = [f"tests.contrib.django_site.{name}" for name in ("tasks", "transactions.TestsOwnTransaction")]
    database = settings_of("sqlite:///app.db", "")
    run_site(tmp_path, {**database, "TEST": {}}, *labels)
