"""Handlers in child processes end turns like any other handler."""

from __future__ import annotations

import os
from typing import Any

import pytest

from duerow import Draft
from duerow.testing.worker_harness import Workshop, eventually, gone, where


def test_every_message_is_handled_once_in_another_process(
    shop: Workshop, monkeypatch: pytest.MonkeyPatch, scale: int
) -> None:
    monkeypatch.setattr("duerow.testing.worker_harness.blocking", lambda handler: handler)  # already plain
    shop.queue.push_many([Draft(number) for number in range(20 * scale)])
    handler: Any = where
    shop.work(handler, "empty", processes=2, batch=10)
    done = [one.payload for one in shop.db.queue("done").find()]
    assert sorted(one["n"] for one in done) == list(range(20 * scale))
    assert {(one["child"], one["asks"]) for one in done} == {(True, True)}
    pids = {one["pid"] for one in done}
    assert len(pids) <= 2
    assert os.getpid() not in pids
    eventually(lambda: all(map(gone, pids)))
