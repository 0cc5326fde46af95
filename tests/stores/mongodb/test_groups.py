"""Callers' transactions and consumers meet in groups as promised."""

from datetime import timedelta

import pytest

from duerow import Queue
from duerow.errors import Conflict
from duerow.testing.conformance.fixtures import Begin
from tests.stores.contention import (  # noqa: F401 - the other one is for servers with SQL
    test_of_a_group_one_is_out_also_if_a_callers_transaction_does_not_see_who_goes_before,
)


def test_of_two_transactions_that_take_messages_before_the_same_one_the_second_is_refused(
    queue: Queue, begin: Begin
) -> None:
    queue.push("first", group="g")
    second = queue.push("second", group="g", delay=timedelta(hours=1))
    third = queue.push("third", group="g")
    lent = queue.reserve()
    assert lent is not None
    assert queue.reserve() is None  # from here on the third waits behind the first
    with begin() as settling, begin() as removing:
        queue.commit(lent, within=settling.handle)
        with pytest.raises(Conflict):
            queue.remove(id=second.id, within=removing.handle)
        settling.commit()
        removing.rollback()
    queue.remove(id=second.id)
    following = queue.reserve()
    assert following is not None
    assert following.message.id == third.id
