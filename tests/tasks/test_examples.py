"""The example application works, and so does the quick start of procrastinate, translated line by line."""

from __future__ import annotations

import os
from pathlib import Path

from tests.processes import run_program

ROOT = Path(__file__).parent.parent.parent

QUICK_START = """
# import procrastinate
import duerow

# app = procrastinate.App(connector=procrastinate.SyncPsycopgConnector())
db = duerow.connect("sqlite:///quick.db", migrate=True)
tasks = duerow.Tasks(db)


# @app.task(queue="sums")
@tasks.task(queue="sums")
def sum(a, b):
    with open("myfile", "w") as f:
        f.write(str(a + b))


if __name__ == "__main__":
    # with app.open():
    with db:
        # sum.defer(a=3, b=5)
        sum.push(a=3, b=5)
        # app.run_worker(queues=["sums"])
        tasks.worker(queues=["sums"]).run(until="idle")
"""
"""https://procrastinate.readthedocs.io, "Quickstart": its lines are the comments. Its worker works until stopped."""


def test_the_quick_start_of_procrastinate_works_line_by_line(tmp_path: Path) -> None:
    (tmp_path / "mycode.py").write_text(QUICK_START)
    assert run_program("mycode", [], tmp_path).returncode == 0
    assert (tmp_path / "myfile").read_text() == "8"


def test_a_worker_of_the_command_runs_the_tasks_of_a_module(tmp_path: Path) -> None:
    (tmp_path / "mycode.py").write_text(QUICK_START + "else:\n    sum.push(1, 2)\n")
    # procrastinate --app=mycode.app worker
    assert run_program("duerow", ["worker", "mycode:tasks", "--until", "idle"], tmp_path).returncode == 0
    assert (tmp_path / "myfile").read_text() == "3"


def test_a_worker_of_the_command_runs_only_the_tasks_of_the_queues_named(tmp_path: Path) -> None:
    more = """
@tasks.task(queue="mail")
def shout():
    print("not now")

sum.push(1, 2)
shout.push()
"""
    (tmp_path / "mycode.py").write_text(QUICK_START + more)
    done = run_program("duerow", ["worker", "mycode:tasks", "sums", "--until", "idle"], tmp_path)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    assert (tmp_path / "myfile").read_text() == "3"


def test_the_shop_with_tasks_takes_orders_and_reports_once(tmp_path: Path) -> None:
    surroundings = {**os.environ, "SHOP_URL": f"sqlite:///{tmp_path}/shop.db"}
    done = run_program("examples.orders", [], ROOT, surroundings)
    lines = done.stdout.splitlines()
    assert sorted(lines[:-2]) == [
        "to ann@example.org: we have your order 1",
        "to ben@example.org: we have your order 2",
        "to the boss: 2 of 2 invoices, 76.40 in all",
    ]
    assert lines[-2:] == ["order 1: 16.50", "order 2: 59.90"]
