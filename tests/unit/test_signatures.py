"""A function that cannot be called as it will be is refused when it is given, not at the first message."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from functools import partial, wraps
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from sqlalchemy import create_engine

import duerow
from duerow import Frame, Join, Relay, Sink, aio, entity, limited
from duerow.aio.worker import Worker as AsyncWorker
from duerow.errors import ConfigurationError
from duerow.signatures import check_call
from duerow.sync.worker import Worker
from duerow.testing import drain
from tests.entity.models import Mail
from tests.workers import jobs


@dataclass
class Paid:
    """A declared type."""

    amount: int


ONE: Callable[..., Any] = lambda message: None  # noqa: E731
TWO: Callable[..., Any] = lambda message, connection: None  # noqa: E731
NONE: Callable[..., Any] = lambda: None  # noqa: E731


def named(*, message: Any) -> None:
    """Takes its message by name alone."""


class Method:
    def one(self, message: Any) -> None: ...

    def none(self) -> None: ...


@pytest.mark.parametrize(
    ("terms", "fits", "misfits"),
    [
        ({}, ONE, [NONE, TWO, named, Method().none, partial(ONE, 1), Method.one]),
        ({"whole_batch": True}, ONE, [NONE, TWO]),
        ({"transactional": True}, TWO, [NONE, ONE]),
        ({"processes": 1}, print, [jobs.none]),
    ],
)
def test_a_worker_refuses_a_handler_that_does_not_take_what_it_will_be_given(
    tmp_path: Path, terms: dict[str, Any], fits: Any, misfits: list[Any]
) -> None:
    blocking = duerow.connect(f"sqlite:///{tmp_path}/a.db", migrate=True).queue("mail")
    awaited = asyncio.run(aio.connect(f"sqlite:///{tmp_path}/b.db", migrate=True)).queue("mail")
    workers: list[Callable[..., Any]] = [partial(Worker, blocking, **terms), partial(AsyncWorker, awaited, **terms)]
    for worker in workers:
        worker(fits)
        for misfit in misfits:
            with pytest.raises(ConfigurationError, match=r"the handler is called with \((message|messages)"):
                worker(misfit)


def test_what_does_not_tell_its_arguments_or_takes_any_passes() -> None:
    @wraps(TWO)
    def wrapper(*given: Any, **named: Any) -> Any:
        """Adds an argument, as dependency injection does."""

    queue = duerow.connect("memory://").queue("mail")
    for handler in (wrapper, Mock(), print, dict, Method().one, partial(TWO, 1), partial(TWO, connection=1)):
        Worker(queue, handler)


def test_a_worker_of_rows_wants_a_handler_of_a_row_and_a_session() -> None:
    invoices = entity.EntityQueue(Mail.sending, create_engine("sqlite://"))
    Worker(invoices, TWO)
    for terms in ({}, {"transactional": True}, {"whole_batch": True}):
        with pytest.raises(ConfigurationError, match=r"the handler is called with \(rows?, session\)"):
            Worker(invoices, ONE, **terms)  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match=r"on_done is called with \(row, session\)"):
        entity.EntityQueue(Mail.sending, create_engine("sqlite://"), on_done=ONE)


@pytest.mark.parametrize(
    ("made", "name"),
    [
        (lambda: Relay("check", NONE, to="next"), "message"),
        (lambda: Sink("send", TWO), "message"),
        (lambda: Frame("sum", NONE, to="next"), "frame"),
        (lambda: Join("pair", NONE, by="key", count=2, to="next"), "messages"),
        (lambda: Join("pair", ONE, by=NONE, count=2, to="next"), "message"),
        (lambda: Join("pair", ONE, by="key", complete=NONE, to="next"), "parts"),
        (lambda: Worker(duerow.connect("memory://").queue("mail"), ONE, middleware=[ONE]), "message, call_next"),
        (lambda: drain({duerow.connect("memory://").queue("mail"): NONE}), "message"),
        (lambda: limited(3, lambda attempt: timedelta(0)), "attempt, started_at, error"),  # type: ignore[arg-type]
        (lambda: duerow.connect("memory://").queue("mail", retry=ONE), "attempt, started_at, error"),
        (lambda: duerow.connect("memory://").queue("mail", payload=Paid, upgrades={"old": NONE}), "payload"),
    ],
)
def test_so_is_every_other_function_that_will_be_called(made: Callable[[], Any], name: str) -> None:
    with pytest.raises(ConfigurationError, match=rf"called with \({name}\)"):
        made()


def test_the_error_says_what_the_function_takes() -> None:
    def send(message: Any, connection: Any) -> None: ...

    with pytest.raises(
        ConfigurationError,
        match=r"the handler is called with \(message\); <function .*send.*> takes \(message.*, connection.*\): "
        "missing a required argument: 'connection'",
    ):
        check_call("the handler", send, "message")
