"""What a consumer says of itself."""

from __future__ import annotations

import os
from importlib.metadata import PathDistribution

import pytest

import duerow
from duerow import Worker
from duerow.store import consumer_id
from duerow.store.consumer_id import new_claim


def test_workers_read_the_version_of_duerow_once_for_all_that_they_say_of_themselves(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    consumer_id.own_version.cache_clear()
    reads: list[str] = []
    read_text = PathDistribution.read_text

    def counted(self: PathDistribution, filename: object) -> str | None:
        reads.append(str(filename))
        return read_text(self, str(filename))

    monkeypatch.setattr(PathDistribution, "read_text", counted)
    with duerow.connect("memory://", migrate=True) as db:
        queue = db.queue("orders")
        Worker(queue, lambda message: None).run(until="idle")
        once = list(reads)
        Worker(queue, lambda message: None).run(until="idle")
        assert once
        assert reads == once
        assert {one.version for one in db.consumers()} == {duerow.__version__}


def test_claims_have_different_names_even_in_a_fork_with_the_process_id_of_an_earlier_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(os, "getpid", lambda: 7)
    names = [new_claim("anna") for _ in range(3)]
    consumer_id._begin_anew()  # what a fork does
    names += [new_claim("anna") for _ in range(3)]
    assert len(set(names)) == 6
    prefixes = {name.partition("/")[2][:12] for name in names}
    assert len(prefixes) == 2
