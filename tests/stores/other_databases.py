"""`within=` a transaction of another database: refused, in whichever way it is held, and nothing is written there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from duerow import Database, Queue
from duerow.errors import ConfigurationError
from duerow.testing.conformance.fixtures import Place
from duerow.testing.faces import Face
from tests.stores.callers import Way


def in_ways(ways: Sequence[Way]) -> Callable[..., Any]:
    """Run a test in each way that a transaction can be held, on the face that it suits."""
    pairs = [(way.face, way) for way in ways]
    names = [f"{way.face}-{way.name}" for way in ways]
    return pytest.mark.parametrize(("face", "way"), pairs, ids=names, indirect=["face"])


def refuse_elsewhere(db: Database, queue: Queue, place: Place, elsewhere: Place, face: Face, way: Way) -> None:
    """A transaction elsewhere is refused again and again, and one here is taken."""
    with face.connect(elsewhere.url, migrate=True, **elsewhere.settings) as other:
        for _ in range(2):
            with way.open(elsewhere, face) as own:
                with pytest.raises(ConfigurationError, match="another database"):
                    queue.push("lost", within=own.handle)
                with pytest.raises(ConfigurationError, match="another database"):
                    queue.remove(where="attempts >= 0", within=own.handle)
                own.commit()
        assert other.queue("mail").count() == 0
        for _ in range(2):
            with way.open(place, face) as own:
                queue.push("kept", within=own.handle)
                queue.push("kept", within=own.handle)
                own.commit()
        assert (queue.count(), other.queue("mail").count()) == (4, 0)
