"""What a consumer says of itself."""

from __future__ import annotations

from importlib.metadata import PathDistribution

import pytest

import duerow
from duerow import Worker
from duerow.store import consumer_id


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
