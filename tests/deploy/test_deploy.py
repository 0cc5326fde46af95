"""The files for deployment are what their programs can read, and the commands in them are commands."""

from __future__ import annotations

import json
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import psycopg
import pymysql
import pytest
import typer.main
import yaml
from dockerfile_parse import DockerfileParser
from psycopg import sql
from sqlalchemy import create_engine, make_url, text

import duerow
from duerow.cli.application import app
from duerow.telemetry.probes import answer
from duerow.worker.health import Health

DEPLOY = Path(__file__).parents[2] / "deploy"
UNIT = DEPLOY / "systemd" / "duerow-worker@.service"
KUBERNETES = "1.34"

COMMANDS = typer.main.get_command(app).commands  # type: ignore[attr-defined]


def read(words: list[str], monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Read a command line of duerow's as the command would; return its parameters."""
    monkeypatch.setenv("DUEROW_URL", "memory://")
    found = COMMANDS[words[0]].make_context(words[0], words[1:])
    return dict(found.params)


def manifests(name: str) -> list[dict[str, Any]]:
    return list(yaml.safe_load_all((DEPLOY / "kubernetes" / f"{name}.yaml").read_text()))


def containers(manifest: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The containers anywhere in a manifest."""
    for key, value in manifest.items():
        if key in ("containers", "initContainers"):
            yield from value
        elif isinstance(value, dict):
            yield from containers(value)


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="this machine has no systemd-analyze")
def test_systemd_understands_every_line_of_the_unit(tmp_path: Path) -> None:
    unit = tmp_path / UNIT.name
    unit.write_text(UNIT.read_text().replace("/srv/shop/.venv/bin/duerow", "/bin/true"))
    done = subprocess.run(["systemd-analyze", "verify", unit], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_unit_starts_a_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    (line,) = [line for line in UNIT.read_text().splitlines() if line.startswith("ExecStart=")]
    words = shlex.split(line.partition("=")[2].replace("%i", "shop.mail:mail"))
    assert Path(words[0]).name == "duerow"
    assert read(words[1:], monkeypatch)["what"] == "shop.mail:mail"


@pytest.mark.skipif(shutil.which("hadolint", path=Path(sys.executable).parent) is None, reason="hadolint is not here")
def test_the_dockerfile_has_no_known_mistake() -> None:
    linter = Path(sys.executable).parent / "hadolint"
    done = subprocess.run([linter, DEPLOY / "docker" / "Dockerfile"], capture_output=True, text=True, check=False)
    assert done.stdout == ""


def test_the_image_starts_a_worker_whose_probe_answers_at_the_address_that_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copy(DEPLOY / "docker" / "Dockerfile", tmp_path)  # the parser wants a place of its own
    lines = DockerfileParser(str(tmp_path)).structure
    said = {line["instruction"]: line["value"] for line in lines}
    assert json.loads(said["ENTRYPOINT"]) == ["duerow"]
    worker = read(json.loads(said["CMD"]), monkeypatch)
    assert f"http://127.0.0.1:{worker['health_port']}/healthz" in said["HEALTHCHECK"]
    assert said["USER"] != "root"


def test_compose_knows_every_key_and_each_service_runs_a_command(monkeypatch: pytest.MonkeyPatch) -> None:
    path = DEPLOY / "docker" / "compose.yaml"
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.compose-spec", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    services = yaml.safe_load(path.read_text())["services"]
    assert set(services) == {"database", "migrate", "worker", "dashboard"}
    for name in ("migrate", "worker"):
        read(services[name]["command"], monkeypatch)
    serve = services["dashboard"]["command"]
    assert COMMANDS["dashboard"].make_context("dashboard", serve[1:]).params["port"] == 8765


@pytest.mark.parametrize("name", ["worker", "maintain"])
def test_kubernetes_knows_every_field_and_each_container_runs_a_command(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    import kubernetes_validate  # takes long, and every process of the tests imports this file

    for manifest in manifests(name):
        kubernetes_validate.validate(manifest, KUBERNETES, strict=True)
        for container in containers(manifest):
            read(container["args"], monkeypatch)


def test_the_probes_of_the_manifest_tell_a_hanging_worker_from_one_without_a_database() -> None:
    (worker,) = [one for manifest in manifests("worker") for one in containers(manifest) if one["name"] == "worker"]
    asked = {name: worker[name]["httpGet"]["path"] for name in ("startupProbe", "livenessProbe", "readinessProbe")}
    away = Health(True, False, "the database of the worker on mail does not answer")
    hanging = Health(False, False, "the worker on mail has not checked its database for 90 s")
    assert {name: answer(path, away)[0] for name, path in asked.items()} == {
        "startupProbe": 503,
        "livenessProbe": 200,
        "readinessProbe": 503,
    }
    assert answer(asked["livenessProbe"], hanging)[0] == 503


def query() -> str:
    """The query that KEDA runs."""
    (scaled,) = [one for one in manifests("keda") if one["kind"] == "ScaledObject"]
    return str(scaled["spec"]["triggers"][0]["metadata"]["query"])


def test_keda_is_given_the_fields_that_its_documentation_names() -> None:
    authentication, scaled = manifests("keda")
    assert authentication["spec"]["secretTargetRef"][0].keys() == {"parameter", "name", "key"}
    assert authentication["spec"]["secretTargetRef"][0]["parameter"] == "connection"
    spec = scaled["spec"]
    assert spec.keys() == {
        *("scaleTargetRef", "pollingInterval", "cooldownPeriod", "minReplicaCount", "maxReplicaCount", "triggers")
    }
    (trigger,) = spec["triggers"]
    assert trigger["type"] == "postgresql"
    assert trigger["authenticationRef"]["name"] == authentication["metadata"]["name"]
    assert trigger["metadata"].keys() == {"query", "targetQueryValue", "activationTargetQueryValue"}
    assert all(isinstance(value, str) for value in trigger["metadata"].values())
    deployed = next(one for one in manifests("worker") if one["kind"] == "Deployment")
    assert spec["scaleTargetRef"]["name"] == deployed["metadata"]["name"]


@pytest.fixture
def on_postgresql(postgresql_url: str) -> Iterator[tuple[str, str]]:
    """An empty database, and the query for it."""
    name = f"scaled_{uuid4().hex[:12]}"
    with closing(psycopg.connect(postgresql_url, autocommit=True)) as superuser:
        superuser.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        yield f"{postgresql_url.rpartition('/')[0]}/{name}", query()
        superuser.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


@pytest.fixture
def on_mariadb(mariadb_url: str) -> Iterator[tuple[str, str]]:
    name, url = f"scaled_{uuid4().hex[:12]}", make_url(mariadb_url)
    place = {"host": url.host, "port": url.port or 3306, "user": url.username, "password": url.password or ""}
    with closing(pymysql.connect(**place, autocommit=True)) as connection:
        connection.cursor().execute(f"CREATE DATABASE {name}")
        yield (
            url.set(database=name).render_as_string(hide_password=False),
            query().replace("now()", "UTC_TIMESTAMP(6)"),
        )
        connection.cursor().execute(f"DROP DATABASE {name}")


@pytest.mark.parametrize("database", ["on_postgresql", "on_mariadb"])
def test_keda_counts_what_is_due_and_what_workers_have_in_hand(database: str, request: pytest.FixtureRequest) -> None:
    url, statement = request.getfixturevalue(database)
    with duerow.connect(url, migrate=True) as db:
        mail = db.queue("mail")
        mail.push_many([duerow.Draft(n) for n in range(4)])
        mail.push("later", delay=timedelta(days=1))
        db.queue("other").push("due")
        buried, _in_hand = mail.reserve_many(2, lease=timedelta(hours=1))
        mail.bury(buried, "no")
        drivers = {"postgresql": "postgresql+psycopg", "mysql": "mysql+pymysql"}
        engine = create_engine(make_url(url).set(drivername=drivers[make_url(url).drivername]))
        with engine.connect() as connection:
            assert connection.execute(text(statement)).scalar_one() == 2 + 1  # due, and in hand
        engine.dispose()
