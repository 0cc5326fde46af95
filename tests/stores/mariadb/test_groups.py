"""The next message of a group has its turn, whichever transactions end those before it at the same moment."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest
from sqlalchemy import create_engine

import duerow
from duerow.testing.conformance.fixtures import Place

WAITING = "SHOW GLOBAL STATUS LIKE 'Innodb_row_lock_current_waits'"


@pytest.fixture
def mail(place: Place) -> Iterator[duerow.Queue]:
    with duerow.connect(place.url, **place.settings) as db:
        yield db.queue("mail")


def test_a_group_goes_on_if_its_second_message_is_removed_while_its_first_is_settled(
    mail: duerow.Queue, place: Place, superuser: Any
) -> None:
    engine = create_engine(place.url.replace("mysql://", "mysql+pymysql://"), isolation_level="READ COMMITTED")
    _, second, third = mail.push_many([duerow.Draft(word, group="g") for word in ("first", "second", "third")])
    lent = mail.reserve()
    assert lent is not None
    with engine.connect() as operator:
        mail.remove(id=second.id, within=operator)
        settling = threading.Thread(target=lent.commit)
        settling.start()
        while superuser.execute(WAITING) and superuser.fetchall()[0][1] == "0":
            assert settling.is_alive()
        operator.commit()
    settling.join()
    engine.dispose()
    following = mail.reserve()
    assert following is not None
    assert following.message.id == third.id
