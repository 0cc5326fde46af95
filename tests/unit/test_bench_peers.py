"""The comparison with other queues: how each is sent to, what the page shows, and what is said where one is missing."""

import json
import re
import sys
from importlib import import_module
from importlib.util import find_spec
from unittest.mock import MagicMock

import pytest

from bench import command, peers, peers_page, report
from bench.cost import Counters, with_client_time
from bench.messages import STOP, Noted, payload
from bench.peers import in_node
from bench.peers.missing import PeerMissing
from bench.peers.sending import AwaitedSender, BlockingSender
from bench.results import Result, against
from bench.scenarios import peers as scenarios

MACHINE = {"cores": 2, "memory_gb": 8, "fdatasync_microseconds": 100, "load_before": 0.1}
NAMES = ("NAME", "SETTINGS", "ONE_BY_ONE", "set_up", "sender", "prepare_drain", "left")


class Sent:
    """A peer that keeps what it was sent."""

    def __init__(self):
        self.one_by_one, self.calls = [], []

    def blocking(self):
        return BlockingSender(self.one_by_one.append, self.calls.append)

    def awaited(self):
        async def push(message):
            self.one_by_one.append(message)

        async def push_many(messages):
            self.calls.append(messages)

        return AwaitedSender(push, push_many)


@pytest.fixture(params=["blocking", "awaited"])
def sent(request):
    peer = Sent()
    return peer, getattr(peer, request.param)()


def test_a_peer_is_sent_every_message_once_and_in_order(sent):
    peer, sender = sent
    sender.one_by_one(3)()
    assert peer.one_by_one == [payload(0), payload(1), payload(2)]


def test_nothing_is_sent_before_the_clock_starts(sent):
    peer, sender = sent
    sender.one_by_one(3)
    sender.in_calls(3, most=2)
    assert peer.one_by_one == peer.calls == []


def test_a_bulk_push_makes_calls_of_the_size_that_the_table_names(sent):
    peer, sender = sent
    sender.in_calls(5, most=2)()
    assert [len(call) for call in peer.calls] == [2, 2, 1]
    assert [message for call in peer.calls for message in call] == [payload(n) for n in range(5)]


def test_a_worker_whose_latency_is_measured_learns_that_the_last_message_was_the_last(sent):
    peer, sender = sent
    pushed = sender.now_and_then([0, 0])()
    assert peer.one_by_one == [payload(0), payload(1), STOP]
    assert list(pushed) == [0, 1]
    noted = Noted()
    assert [noted.stopped_by(message) for message in peer.one_by_one] == [False, False, True]
    assert noted.times.keys() == pushed.keys()


def imported_for_this_test(name):
    """Import a module that nobody else is given, because it has a stand-in for its library."""
    module = import_module(name)
    del sys.modules[name]
    return module


@pytest.mark.parametrize("name", [*peers.CONTESTANTS, *peers.POSTGRESQL, *peers.SQLITE])
def test_every_contestant_offers_what_the_comparison_asks_for(name, monkeypatch):
    library = {"awa-pg": "awa", "huey": "huey", "litequeue": "litequeue"}.get(name)
    if library and find_spec(library) is None:  # `make bench ARGS=--peers` installs it, `make test` does not
        monkeypatch.setitem(sys.modules, library, MagicMock())
        monkeypatch.setattr(peers, "import_module", imported_for_this_test)
    adapter = peers.load(name)
    wanted = (*NAMES, "synchronous") if name in peers.SQLITE else (*NAMES, "prepare_worker")
    assert [word for word in wanted if not hasattr(adapter, word)] == []
    assert name == adapter.NAME


def test_the_page_shows_the_fastest_first_with_the_worst_round_beside_the_median():
    samples = {"duerow": [100.0, 300.0, 200.0], "pgmq": [410.0, 390.0, 400.0]}
    text = page([against("single push", samples, "pgmq", None)])
    table = re.findall(r"^\| (pgmq|duerow) \| (\d+) \| (\d+) \| ([\d.]*) ?\|$", text, re.MULTILINE)
    assert table == [("pgmq", "400", "390", "0.50"), ("duerow", "200", "100", "")]


def test_of_times_the_page_shows_the_shortest_first_and_the_longest_round():
    samples = {"duerow": [3.0, 4.0, 2.0], "pgmq": [6.0, 9.0, 5.0]}
    text = page([against("push to handler, p50", samples, "pgmq", None, unit="ms")])
    table = re.findall(r"^\| (pgmq|duerow) \| (\d+) \| (\d+) \| ([\d.]*) ?\|$", text, re.MULTILINE)
    assert table == [("duerow", "3", "4", ""), ("pgmq", "6", "9", "2.00")]


def test_the_page_names_versions_and_settings_and_a_busy_machine():
    text = page([against("single push", {"duerow": [1.0], "pgmq": [1.0]}, "pgmq", None)], load_before=9.5)
    assert f"| pgmq | {peers.version('pgmq')} | {peers.load('pgmq').SETTINGS} |" in text
    assert "other work" in " ".join(text.split())


def page(results, **on):
    return peers_page.page(f"{report.BEGIN}\n{report.END}\n", results, "smoke", MACHINE | on, {})


def test_a_peer_that_is_not_installed_is_named_with_what_installs_it(monkeypatch):
    def not_installed(name):
        raise peers.PackageNotFoundError(name)

    monkeypatch.setattr(peers, "installed_version", not_installed)
    found, absent = peers.present(("huey",))
    assert found == []
    assert absent == {"huey": "huey is not installed: `make bench ARGS=--peers` installs it"}


def test_a_peer_from_npm_that_was_not_fetched_is_named_with_what_fetches_it(monkeypatch, tmp_path):
    monkeypatch.setattr(in_node, "folder", lambda: tmp_path)
    with pytest.raises(PeerMissing, match=r"pg-boss is not installed: `make bench ARGS=--peers` installs it"):
        peers.version("pg-boss")


def test_a_run_without_a_peer_says_so_and_does_not_pass(monkeypatch, tmp_path, capsys):
    samples = {"duerow": [1.0], "floor": [1.0]}
    monkeypatch.setattr(command, "present", lambda names: ([], {"huey": "huey is not installed"}))
    monkeypatch.setattr(scenarios, "SCENARIOS", {"push": lambda context: [against("push", samples, "floor", None)]})
    monkeypatch.setattr(sys, "argv", ["bench", "--peers", "--size", "smoke", "--json", str(tmp_path / "results.json")])
    assert command.main() == 1
    said = capsys.readouterr()
    assert "huey is not installed" in said.err
    assert "huey could not be measured" in said.out
    assert json.loads((tmp_path / "results.json").read_text())["failures"] == {"huey": "huey is not installed"}


def test_what_comes_from_npm_is_locked_by_hash_without_a_word_of_where_it_came_from():
    lock = json.loads((in_node.HERE / "package-lock.json").read_text())
    packages = {name: package for name, package in lock["packages"].items() if name}
    assert {name for name, package in packages.items() if "resolved" in package} == set()
    assert {name for name, package in packages.items() if "integrity" not in package} == set()


def test_costs_have_one_table_with_a_column_for_each_figure_and_the_cheapest_for_the_server_first():
    def line(unit, ours, theirs):
        return Result("cost of a push", unit, ours, "pgmq", theirs)

    text = page([line("bytes of WAL", 500, 400), line("dead rows", 2, 0), line("server, µs", 80, 45)])
    assert "| | bytes of WAL | dead rows | server, µs |" in text
    rows = re.findall(r"^\| (?:pgmq|duerow) \|(?: \d+ \|)+$", text, re.MULTILINE)
    assert rows == ["| pgmq | 400 | 0 | 45 |", "| duerow | 500 | 2 | 80 |"]


def test_a_run_whose_cost_is_counted_still_gives_its_answer():
    result, _ = with_client_time(lambda: [1, 2])()
    assert result == [1, 2]


def test_a_cost_is_what_was_counted_between_two_moments():
    before, after = Counters(1, 2, 3, 4, 5, 6), Counters(11, 22, 33, 44, 55, 66)
    assert after.since(before) == Counters(10, 20, 30, 40, 50, 60)
