"""One active worker in the cluster, or so many handlers at once in all of them."""

from __future__ import annotations

from typing import Any

import pytest

import duerow
from duerow.errors import DuerowError
from duerow.sync.worker import Worker
from duerow.worker.cluster_limit import permit_queue


def test_the_permits_of_queues_have_a_queue_of_their_own() -> None:
    assert permit_queue("singleton", ["mail"]) == "duerow/singleton/mail"
    together = permit_queue("concurrency", ["mail", "sms"])
    assert together == permit_queue("concurrency", ["sms", "mail"])
    assert together != permit_queue("concurrency", ["mail"])
    assert len(permit_queue("singleton", ["m" * 100])) <= 100


@pytest.mark.parametrize(
    ("terms", "name"),
    [
        ({"singleton": "yes"}, "singleton"),
        ({"cluster_concurrency": 0}, "cluster_concurrency"),
        ({"cluster_concurrency": 2.5}, "cluster_concurrency"),
        ({"cluster_concurrency": 2, "singleton": True}, "give only one"),
    ],
)
def test_settings_that_make_no_sense_are_refused(terms: dict[str, Any], name: str) -> None:
    queue = duerow.connect("memory://").queue("mail")
    with pytest.raises(DuerowError, match=name):
        Worker(queue, print, **terms)
