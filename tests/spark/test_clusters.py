"""On a standalone cluster of Spark, whatever becomes of executors and workers, each message comes out once."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pyspark
import pytest

import duerow
from duerow import Draft
from duerow.spark.java import java_home
from duerow.testing.conformance.fixtures import Place
from tests.servers.process import free_port
from tests.spark.on_cluster import ENDED, NUMBERS, SET, check

pytestmark = [
    pytest.mark.soak,
    pytest.mark.timeout(1_800),
    pytest.mark.parametrize("place", ["postgresql"], indirect=True),
]

TOTAL = int(os.environ.get("DUEROW_SOAK_CLUSTER", "4000"))
PATIENCE = 900.0
"""Seconds after which something hangs."""

ROOT = Path(__file__).parents[2]
SPARK = Path(pyspark.__file__).parent
EXECUTOR = "CoarseGrainedExecutorBackend"

SETTINGS = {
    "spark.executor.cores": "1",
    "spark.executor.memory": "512m",
    "spark.task.maxFailures": "20",
    "spark.speculation": "true",
    "spark.speculation.quantile": "0.5",
    "spark.speculation.multiplier": "1.1",
    "spark.ui.enabled": "false",
}


def environment() -> dict[str, str]:
    """The environment of a cluster's processes, and of a program that uses it."""
    home = java_home()
    return {
        **os.environ,
        **({"JAVA_HOME": home} if home else {}),
        "SPARK_HOME": str(SPARK),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_DAEMON_MEMORY": "256m",
        "SPARK_WORKER_OPTS": "-Dspark.decommission.enabled=true",
        "PYSPARK_PYTHON": sys.executable,
        "PYTHONPATH": os.pathsep.join([str(Path(duerow.__file__).parents[1]), os.environ.get("PYTHONPATH", "")]),
    }


class Cluster:
    """A master and two workers on this machine, with one core each.

    Args:
        folder: where they log and work.
    """

    def __init__(self, folder: Path) -> None:
        self._folder, self._processes = folder, list[subprocess.Popen[bytes]]()
        self.master = f"spark://127.0.0.1:{free_port()}"
        port = self.master.rpartition(":")[2]
        self._start("master", "master.Master", "--port", port)
        wait_for(lambda: "I have been elected leader" in self.log("master"), lambda: self.log("master"))
        self.workers = [self._worker(name) for name in ("worker-0", "worker-1")]
        wait_for(lambda: self.log("master").count("Registering worker") == 2, lambda: self.log("master"))

    def _worker(self, name: str) -> subprocess.Popen[bytes]:
        folder = self._folder / f"{name}.work"
        return self._start(
            name, "worker.Worker", "--cores", "1", "--memory", "1g", "--work-dir", str(folder), self.master
        )

    def _start(self, name: str, role: str, *arguments: str) -> subprocess.Popen[bytes]:
        common = ["--host", "127.0.0.1", "--webui-port", "0"]
        with self._log(name).open("wb") as log:
            process = subprocess.Popen(
                [SPARK / "bin" / "spark-class", f"org.apache.spark.deploy.{role}", *common, *arguments],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=ROOT,
                env=environment(),
            )
        self._processes.append(process)
        return process

    def _log(self, name: str) -> Path:
        return self._folder / f"{name}.log"

    def log(self, name: str) -> str:
        """What one of its processes has said."""
        return self._log(name).read_text()

    def executors(self) -> list[psutil.Process]:
        """The processes of Java that run executors."""
        return [executor for one in self.workers for executor in executors_of(one)]

    @property
    def launched(self) -> int:
        """How many executors the master has launched."""
        return len(re.findall("Launching executor", self.log("master")))

    def stop(self) -> None:
        """End its processes, and what they started."""
        family = [below for one in self._processes for below in _below(one.pid)]
        for process in self._processes:
            process.kill()
            process.wait(PATIENCE)
        for process in family:
            _kill(process)


class Program:
    """The program that runs the pipeline on a cluster."""

    def __init__(self, master: str, place: Place, folder: Path, **settings: str) -> None:
        conf = {**SETTINGS, **{f"spark.{name.replace('__', '.')}": value for name, value in settings.items()}}
        arguments = [master, place.url, json.dumps(place.settings), json.dumps(conf)]
        self._log = folder / "program.log"
        with self._log.open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "tests.spark.on_cluster", *arguments],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=ROOT,
                env=environment(),
            )

    @property
    def log(self) -> str:
        """What it has said."""
        return self._log.read_text()

    def end(self) -> None:
        """Wait until nothing is left to do."""
        assert self.process.wait(PATIENCE) == 0, self.log[-5_000:]


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    started = Cluster(tmp_path)
    yield started
    started.stop()


@pytest.fixture
def run(cluster: Cluster, place: Place, db: duerow.Database, tmp_path: Path) -> Iterator[Callable[..., Program]]:
    """Starts the program with numbers to work on."""
    programs: list[Program] = []

    def start(**settings: str) -> Program:
        db.queue(NUMBERS).push_many([Draft(n) for n in range(TOTAL)])
        programs.append(Program(cluster.master, place, tmp_path, **settings))
        return programs[-1]

    yield start
    for program in programs:
        program.process.kill()
        program.process.wait(PATIENCE)


def wait_for(holds: Callable[[], bool], told: Callable[[], str]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < deadline, told()[-5_000:]
        time.sleep(0.1)


def wait_until_done(db: duerow.Database, program: Program, share: float) -> None:
    """Wait until a share of the sets has come out."""

    def came() -> bool:
        assert program.process.poll() is None, program.log[-5_000:]
        return db.queue(ENDED).count() >= share * TOTAL / SET

    wait_for(came, lambda: program.log)


def executors_of(process: subprocess.Popen[bytes]) -> list[psutil.Process]:
    """The processes of Java below another one that run executors."""
    return [one for one in _below(process.pid) if any(EXECUTOR in word for word in _words(one))]


def _below(pid: int) -> list[psutil.Process]:
    try:
        return psutil.Process(pid).children(recursive=True)
    except psutil.NoSuchProcess:
        return []


def _words(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.Error:
        return []


def _kill(process: psutil.Process) -> bool:
    try:
        process.kill()
    except psutil.NoSuchProcess:
        return False
    return True


def kill_executor(cluster: Cluster) -> None:
    wait_for(lambda: len(cluster.executors()) > 0, lambda: cluster.log("master"))
    assert _kill(cluster.executors()[0])


def test_on_a_standalone_cluster_each_message_comes_out_once_although_executors_are_killed(
    cluster: Cluster, run: Callable[..., Program], db: duerow.Database
) -> None:
    program = run()
    for share in (0.1, 0.4):
        wait_until_done(db, program, share)
        kill_executor(cluster)
    program.end()
    print(check(db, TOTAL), f"{cluster.launched} executors launched")
    assert cluster.launched == 4


def test_each_message_comes_out_once_although_a_worker_is_lost_with_its_executor(
    cluster: Cluster, run: Callable[..., Program], db: duerow.Database
) -> None:
    program = run()
    wait_until_done(db, program, 0.2)
    for process in [*_below(cluster.workers[0].pid), psutil.Process(cluster.workers[0].pid)]:
        _kill(process)
    program.end()
    print(check(db, TOTAL), f"{cluster.launched} executors launched")


def test_each_message_comes_out_once_although_a_worker_is_decommissioned(
    cluster: Cluster, run: Callable[..., Program], db: duerow.Database
) -> None:
    program = run(decommission__enabled="true", storage__decommission__enabled="true")
    wait_until_done(db, program, 0.2)
    cluster.workers[0].send_signal(signal.SIGPWR)
    wait_for(lambda: "ecommission" in cluster.log("master"), lambda: cluster.log("worker-0"))
    program.end()
    print(check(db, TOTAL), f"{cluster.launched} executors launched")


def test_each_message_comes_out_once_while_executors_come_and_go_by_dynamic_allocation(
    cluster: Cluster, run: Callable[..., Program], db: duerow.Database
) -> None:
    program = run(
        dynamicAllocation__enabled="true",
        dynamicAllocation__shuffleTracking__enabled="true",
        dynamicAllocation__minExecutors="1",
        dynamicAllocation__initialExecutors="1",
        dynamicAllocation__executorIdleTimeout="2s",
        dynamicAllocation__shuffleTracking__timeout="2s",
    )
    wait_until_done(db, program, 0.4)
    kill_executor(cluster)
    program.end()
    print(check(db, TOTAL), f"{cluster.launched} executors launched")
    assert cluster.launched >= 3


def test_on_a_local_cluster_each_message_comes_out_once_although_an_executor_is_killed(
    place: Place, db: duerow.Database, tmp_path: Path
) -> None:
    db.queue(NUMBERS).push_many([Draft(n) for n in range(TOTAL)])
    program = Program("local-cluster[2,1,512]", place, tmp_path)
    try:
        wait_until_done(db, program, 0.2)
        assert _kill(executors_of(program.process)[0])
        program.end()
    finally:
        for process in _below(program.process.pid):
            _kill(process)
        program.process.kill()
        program.process.wait(PATIENCE)
    print(check(db, TOTAL))
