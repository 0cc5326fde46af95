"""The verbs that end turns are the same wherever they are called: on a queue, a reservation, or a queue of rows."""

import inspect
from typing import Any

import pytest

import duerow
from duerow import aio
from duerow.aio.entity import EntityQueue as AwaitedEntityQueue
from duerow.entity import EntityQueue

VERBS = ("commit", "rollback", "bury", "release", "extend", "move")
OF_ROWS = ("rollback", "bury", "release", "extend", "commit_many", "rollback_many", "bury_many", "settle")


def arguments(verb: Any) -> list[tuple[str, Any, Any]]:
    """The arguments of a method, without `self` and the reservation."""
    named = [one for one in inspect.signature(verb).parameters.values() if one.name not in ("self", "reservation")]
    return [(one.name, one.kind, one.default) for one in named]


@pytest.mark.parametrize("face", [duerow, aio])
@pytest.mark.parametrize("verb", VERBS)
def test_a_reservation_is_settled_with_the_same_arguments_as_through_its_queue(face: Any, verb: str) -> None:
    assert arguments(getattr(face.Reservation, verb)) == arguments(getattr(face.Queue, verb))


@pytest.mark.parametrize(("rows", "messages"), [(EntityQueue, duerow.Queue), (AwaitedEntityQueue, aio.Queue)])
@pytest.mark.parametrize("verb", OF_ROWS)
def test_a_queue_of_rows_ends_turns_by_the_same_methods_as_a_queue_of_messages(
    rows: Any, messages: Any, verb: str
) -> None:
    assert getattr(rows, verb) is getattr(messages, verb)


@pytest.mark.parametrize("queue", [duerow.Queue, aio.Queue, EntityQueue, AwaitedEntityQueue])
def test_each_verb_says_what_it_does(queue: Any) -> None:
    for verb in {*VERBS, *OF_ROWS} & set(dir(queue)):
        assert inspect.getdoc(getattr(queue, verb)), verb
