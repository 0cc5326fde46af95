"""Errors say what happened, to what, and what to do; their values travel between processes."""

import inspect
import pickle
from datetime import UTC, datetime

import pytest

from duerow import errors
from duerow.reservation import Receipt
from duerow.store import Refused

AT = datetime(2026, 3, 1, 12, tzinfo=UTC)


def classes():
    return [kind for _, kind in inspect.getmembers(errors, inspect.isclass) if issubclass(kind, Exception)]


@pytest.mark.parametrize("kind", classes(), ids=lambda kind: kind.__name__)
def test_every_error_is_one_of_duerows_own(kind):
    assert issubclass(kind, errors.DuerowError)


@pytest.mark.parametrize("kind", classes(), ids=lambda kind: kind.__name__)
def test_every_error_is_in_the_tree_that_opens_its_module(kind):
    assert kind.__name__ in errors.__doc__ or kind is errors.DuerowError


@pytest.mark.parametrize(
    "error",
    [
        errors.DuplicateKey("mail", ["a", "b"]),
        errors.LeaseLost(7, AT),
        errors.LeaseLost(7),
        errors.MessageLeased(7, "here:1:a/b"),
        errors.CodecError("payload is odd"),
        errors.StoreUnavailable("gone", "unknown"),
        errors.Conflict("deadlock"),
        errors.QueueDraining("mail"),
        errors.StagedLost("b-1", "2", 5, 0),
    ],
    ids=lambda error: type(error).__name__,
)
def test_an_error_travels_between_processes_with_its_values(error):
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again), vars(again)) == (type(error), str(error), vars(error))


def test_a_refused_batch_travels_with_what_was_refused_and_names_the_first_of_it():
    refused = [Refused(Receipt(id, 1), errors.LeaseLost(id)) for id in (7, 8, 9, 10)]
    again = pickle.loads(pickle.dumps(errors.BatchRefused("b-1", refused)))
    assert [(one.receipt, str(one.error)) for one in again.refused] == [
        (one.receipt, str(one.error)) for one in refused
    ]
    assert (
        "batch 'b-1' was not published, and nothing was changed: 4 turns of the batch were refused (message 7"
        in str(again)
    )
    assert "message 9" in str(again)
    assert "message 10" not in str(again)


def test_a_duplicate_key_names_queue_keys_and_what_to_do():
    text = str(errors.DuplicateKey("mail", [f"k-{n}" for n in range(12)]))
    assert "'mail'" in text
    assert "'k-9' and 2 more" in text
    assert text.endswith("pass on_duplicate='ignore', 'replace' or 'earliest'")
    assert str(errors.DuplicateKey("mail", ["k"], remembered=True)).endswith("pass on_duplicate='ignore'")


def test_a_lost_lease_names_the_message_and_when_it_ended():
    assert "message 7 is no longer yours (its lease ran until 2026-03-01 12:00:00 UTC)" in str(errors.LeaseLost(7, AT))
    assert "message 7 is no longer yours:" in str(errors.LeaseLost(7))


def test_a_leased_message_names_its_holder():
    assert "message 7 is leased by here:1:a/b" in str(errors.MessageLeased(7, "here:1:a/b"))
