"""Whatever is given as a setting of a queue, a worker, a policy, a station or a schedule: an error of duerow's own."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

import duerow
from duerow import Database, Fork, Frame, Join, Pipeline, Relay, Sink, Split, Switch, Worker
from duerow.encryption import Encryption
from duerow.errors import DuerowError
from duerow.retry import by_error, exponential, fixed, limited, on, snooze
from duerow.testing.odd_values import ODD

SOURCE = Path(duerow.__file__).parent

Door = Callable[[Database, Any], Any]


def nothing(message: Any) -> None:
    """Do nothing."""


DOORS: dict[str, Door] = {
    "connect": lambda db, odd: duerow.connect(odd),
    **{
        f"connect({name}=)": lambda db, odd, name=name: duerow.connect("memory://", **{name: odd}).close()
        for name in ("clock", "prefix", "schema", "encryption", "read_timeout", "transactions", "other")
    },
    "queue": lambda db, odd: db.queue(odd),
    **{
        f"queue({name}=)": lambda db, odd, name=name: db.queue("mail", **{name: odd})
        for name in ("lease", "retry", "max_payload_bytes", "dead_letter", "payload", "upgrades", "indexed", "history")
    },
    "queue(remember_keys=)": lambda db, odd: db.queue("mail", remember_keys=odd),
    "purge": lambda db, odd: db.queue("mail").purge(odd),
    "drain": lambda db, odd: db.queue("mail").drain(wait=False, timeout=odd),
    "redrive": lambda db, odd: db.queue("mail").redrive(on_duplicate=odd),
    "replay": lambda db, odd: db.queue("mail").replay(odd),
    "reserve": lambda db, odd: db.queue("mail").reserve(lease=odd),
    "reserve_many(consumer=)": lambda db, odd: db.queue("mail").reserve_many(1, consumer=odd),
    "commit": lambda db, odd: db.queue("mail").commit(odd),
    "settle": lambda db, odd: db.queue("mail").settle([(odd, odd)]),
    "push(within=)": lambda db, odd: db.queue("mail").push(1, within=odd),
    **{
        f"schedule({name}=)": lambda db, odd, name=name: db.schedule(
            "s", **{"queue": "mail", "payload": 1, "every": timedelta(hours=1), name: odd}
        )
        for name in ("queue", "payload", "every", "cron", "daily", "zone", "missed", "group", "priority")
    },
    "schedule": lambda db, odd: db.schedule(odd, queue="mail", every=timedelta(hours=1)),
    "unschedule": lambda db, odd: db.unschedule(odd),
    **{
        f"Worker({name}=)": lambda db, odd, name=name: Worker(db.queue("mail"), nothing, **{name: odd})
        for name in ("batch", "concurrency", "lease", "timeout", "poll", "grace", "name", "rate", "singleton", "retry")
    },
    "Worker": lambda db, odd: Worker(odd, nothing),
    "Worker of": lambda db, odd: Worker(db.queue("mail"), odd),
    "Worker of several": lambda db, odd: Worker([db.queue("mail"), odd], nothing),
    "Worker(middleware=)": lambda db, odd: Worker(db.queue("mail"), nothing, middleware=[odd]),
    "Worker.run(until=)": lambda db, odd: Worker(db.queue("mail"), nothing).run(until=odd or "idle"),
    "fixed": lambda db, odd: fixed(odd),
    "exponential": lambda db, odd: exponential(odd),
    "exponential(factor=)": lambda db, odd: exponential(timedelta(1), factor=odd),
    "exponential(jitter=)": lambda db, odd: exponential(timedelta(1), jitter=odd),
    "limited": lambda db, odd: limited(odd, fixed(timedelta(1))),
    "limited of": lambda db, odd: limited(1, odd),
    "snooze": lambda db, odd: snooze(odd),
    "on": lambda db, odd: on(odd, fixed(timedelta(1))),
    "on, with": lambda db, odd: on(ValueError, odd),
    "by_error": lambda db, odd: by_error(odd, otherwise=fixed(timedelta(1))),
    "by_error(otherwise=)": lambda db, odd: by_error(on(ValueError, fixed(timedelta(1))), otherwise=odd),
    "Relay": lambda db, odd: Relay(odd, nothing, to="b"),
    "Relay of": lambda db, odd: Relay("a", odd, to="b"),
    "Relay(to=)": lambda db, odd: Relay("a", nothing, to=odd),
    "Relay(payload=)": lambda db, odd: Relay("a", nothing, to="b", payload=odd),
    "Switch(to=)": lambda db, odd: Switch("a", nothing, to=odd),
    "Switch(to={})": lambda db, odd: Switch("a", nothing, to={"x": odd}),
    "Fork(to=)": lambda db, odd: Fork("a", nothing, to=odd),
    "Split(to=)": lambda db, odd: Split("a", nothing, to=odd),
    "Join(by=)": lambda db, odd: Join("a", nothing, to="b", by=odd, count=2),
    "Join(count=)": lambda db, odd: Join("a", nothing, to="b", by="payload.x", count=odd),
    "Join(limit=)": lambda db, odd: Join("a", nothing, to="b", by="payload.x", count=2, limit=odd),
    "Frame(to=)": lambda db, odd: Frame("a", nothing, to=odd),
    "Frame(batch=)": lambda db, odd: Frame("a", nothing, to="b", batch=odd),
    "Frame(observe=)": lambda db, odd: Frame("a", nothing, to="b", observe=odd),
    "Frame(observe={})": lambda db, odd: Frame("a", nothing, to="b", observe={"x": odd}),
    "Frame(schema=)": lambda db, odd: Frame("a", nothing, to="b", schema=odd),
    "Pipeline": lambda db, odd: Pipeline(odd, [Sink("a", nothing)]),
    "Pipeline of": lambda db, odd: Pipeline("p", odd),
    "Pipeline of one": lambda db, odd: Pipeline("p", [odd]),
    "Pipeline(outputs=)": lambda db, odd: Pipeline("p", [Relay("a", nothing, to="b")], outputs=odd),
    "Pipeline(max_hops=)": lambda db, odd: Pipeline("p", [Sink("a", nothing)], max_hops=odd),
    "Encryption": lambda db, odd: Encryption([odd]),
    "Encryption of": lambda db, odd: Encryption(odd),
    "Encryption(readable=)": lambda db, odd: Encryption([Encryption.new_key()], readable=odd),
    "Encryption(readable={})": lambda db, odd: Encryption([Encryption.new_key()], readable={"mail": odd}),
    "pipeline": lambda db, odd: db.forget_pipeline(odd),
}


@pytest.mark.parametrize("door", DOORS)
def test_a_setting_is_taken_or_refused_by_an_error_of_duerows_own_which_is_short(door: str) -> None:
    with duerow.connect("memory://") as db:
        for odd in ODD:
            told = ""
            try:
                DOORS[door](db, odd)
            except DuerowError as error:
                told = str(error)
            assert len(told) < 2_000, told[:500]


def test_what_users_give_is_printed_by_a_function_that_is_bounded_and_never_fails() -> None:
    """`!r:.80` cuts text that may have taken long to make, or fails; plain `!r` is for names that were checked."""
    cut = [path for path in SOURCE.rglob("*.py") if "!r:." in path.read_text()]
    assert cut == [], "write {shown(value)}, of duerow.errors, for {value!r:.80}"
