"""A run reaches each database beside duerow: its ledger has an order, and tells what was held and what was undone."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

import duerow
from duerow.errors import ConfigurationError, StoreUnavailable
from duerow.testing.proxy import proxied
from duerow.testing.torture import tables
from duerow.testing.torture.access import Undone
from duerow.testing.torture.environment import BILLS, MAIL, ORDERS, Setting, access, queues
from duerow.testing.torture.ledger import Ledger, Line
from duerow.testing.torture.other_version import migrations
from duerow.testing.torture.producer import LEASE
from duerow.testing.torture.rows import RowInserter
from tests.servers import mongodb


@pytest.fixture(params=["sqlite", "mongodb"])
def setting(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Setting]:
    """An empty database with the tables of a run: one of SQL, and one that has its own module."""
    url = f"sqlite:///{tmp_path}/spare.db"
    if request.param == "mongodb":
        where, _, options = request.getfixturevalue("mongodb_url").partition("?")
        url = f"{where.rpartition('/')[0]}/torture_{uuid.uuid4().hex[:8]}?{options}"
    setting = Setting(url, {"prefix": tables.prefix_of(7)})
    setting.access.check()
    tables.create(setting)
    yield setting
    setting.access.drop()
    setting.access.close()


def test_lines_are_numbered_in_the_order_in_which_they_were_committed(setting: Setting):
    ledger = Ledger(setting)
    ledger.write(Line("pushing", "1.1", MAIL), Line("pushed", "1.1", MAIL, 7))
    with setting.transaction() as opened:
        ledger.write(Line("attempted", "1.2", MAIL), within=opened)
    ledger.write(Line("over", "1.1", MAIL))
    lines = ledger.lines()
    assert [line.what for line in lines] == ["pushing", "pushed", "attempted", "over"]
    assert sorted({line.seq for line in lines}) == [line.seq for line in lines]


def test_what_a_transaction_wrote_is_gone_when_the_application_changes_its_mind(setting: Setting):
    queue, ledger = queues(setting.open(), LEASE)[MAIL], Ledger(setting)
    with setting.transaction() as opened:
        ledger.write(Line("attempted", "1.1", MAIL), within=opened)
        queue.push({"act": "1.1"}, within=opened)
        raise Undone
    assert ledger.lines() == []
    assert tables.Reader(setting).rows() == []


def test_a_line_tells_whether_the_turn_was_held(setting: Setting):
    queue, ledger = queues(setting.open(), LEASE)[MAIL], Ledger(setting)
    queue.push_many([duerow.Draft({"act": "1.1"})] * 2)
    held, settled = queue.reserve_many(2)
    settled.rollback()
    ledger.ask([ledger.turn("begun", one.message) for one in (held, settled)])
    assert [(line.message, line.held) for line in ledger.lines()] == [
        (held.message.id, True),
        (settled.message.id, False),
    ]


def test_the_verdict_reads_messages_and_turns(setting: Setting):
    reader, taken = tables.Reader(setting), queues(setting.open(), LEASE)
    for queue in taken.values():
        queue.push({"act": queue.name}, group="g")
    assert reader.left() == 3
    taken[ORDERS].commit(taken[ORDERS].reserve())
    taken[BILLS].reserve()
    assert reader.left() == 2
    lent, free = sorted(reader.rows(), key=lambda row: row.queue)
    assert (lent.queue, free.queue, free.payload, free.group, free.leased_by) == (BILLS, MAIL, {"act": MAIL}, "g", None)
    assert lent.leased_by is not None
    assert [(turn.queue, turn.outcome) for turn in reader.turns()] == [(ORDERS, "done")]
    assert not reader.begun()
    for number, turns in ((1, 2), (3, 1)):
        Ledger(replace(setting, number=number)).write(*[Line("begun", None, MAIL, 1, 1)] * turns, Line("finished"))
    assert reader.begun() == {1: 2, 3: 1}
    assert reader.made() == [*enumerate([name for name, _ in migrations(setting.url).MIGRATIONS], 1)]


def test_rows_of_the_applications_own_table_are_read_where_they_can_be_a_queue(setting: Setting):
    reader = tables.Reader(setting)
    if not setting.access.has_items:
        assert reader.items() is None
        return
    assert reader.items() == []
    inserter = RowInserter(setting, Ledger(setting))
    while not reader.items():  # some change their mind
        inserter.insert_rows()
    inserted = [line.note for line in Ledger(setting).lines() if line.what == "inserted"]
    assert [(one.record, one.status, one.is_due, one.handled) for one in reader.items() or ()] == [
        (record, "new", True, 0) for record in inserted
    ]
    assert reader.left() == len(inserted)


def test_other_queues_are_found_and_left_alone(setting: Setting):
    tables.check_is_free(setting)
    other = duerow.connect(setting.url, migrate=True, prefix="shop_")
    other.queue("mail").push(1)
    with pytest.raises(tables.OtherQueues, match="shop_"):
        tables.check_is_free(setting)
    setting.access.drop()
    assert other.queue("mail").pop() is not None


def test_processes_reach_a_replica_set_through_the_proxy_alone(mongodb_url: str):
    direct = access(f"{mongodb_url}&serverSelectionTimeoutMS=200", "torture_", False)
    with proxied(*(direct.address() or ("", 0))) as proxy:
        through = access(direct.behind(proxy.port), "torture_", False)
        assert through.answers()
        assert len(proxy.links) > 0
        proxy.close()
        assert not through.answers()
        through.close()


@pytest.mark.parametrize("url", ["mongodb+srv://app@shop.example/spare", "mongodb://a:27017,b:27017/spare"])
def test_several_servers_have_no_proxy(url: str):
    assert access(url, "torture_", False).address() is None


def test_a_server_without_transactions_is_refused():
    with mongodb.standalone() as url, pytest.raises(ConfigurationError, match="one member"):
        access(url, "torture_", False).check()


def test_a_level_of_isolation_is_refused_where_there_is_none():
    with pytest.raises(ConfigurationError, match="SERIALIZABLE"):
        access("mongodb://localhost/spare", "torture_", True)


def test_a_server_that_is_away_is_told_as_by_duerow():
    with pytest.raises(StoreUnavailable):
        access("mongodb://127.0.0.1:1/spare?serverSelectionTimeoutMS=100", "torture_", False).check()
