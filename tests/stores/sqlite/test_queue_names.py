"""The names of queues are looked up some at a time, each after the one before."""

from datetime import timedelta
from pathlib import Path

import pytest

import duerow
from duerow.stores.sql.dialects.sqlite.dialect import SQLite


def test_every_queue_is_listed_once_however_many_a_statement_looks_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(SQLite, "names_at_once", 3)
    with duerow.connect(f"sqlite:///{tmp_path}/queues.db", migrate=True) as db:
        in_line, in_groups = [f"line-{n}" for n in range(7)], [f"group-{n}" for n in range(4)]
        for name in in_line:
            db.queue(name).push(1)
        for name in in_groups:
            db.queue(name).push(1, group="g")
        db.queue("both").push_many([duerow.Draft(1), duerow.Draft(2, group="g")])
        db.queue("dead").push(1)
        db.queue("dead").bury(db.queue("dead").reserve(), "no")
        past = db.queue("past", history=timedelta(days=1))
        past.push(1)
        past.commit(past.reserve())
        assert db.known_queues() == sorted([*in_line, *in_groups, "both", "dead", "past"])
