"""What the benchmark's table says of a line."""

from __future__ import annotations

from bench.results import Result


def test_the_worst_round_is_the_slowest_of_rates_and_the_dearest_of_costs() -> None:
    rounds = {"duerow": [3.0, 1.0, 2.0], "floor": [9.0]}
    assert Result("pushes", "messages/s", 2.0, samples=rounds).worst == 1.0
    assert Result("a message", "µs", 2.0, at_most=True, samples=rounds).worst == 3.0


def test_a_single_round_has_no_worst_one() -> None:
    assert Result("pushes", "messages/s", 2.0, samples={"duerow": [2.0]}).worst is None
    assert Result("pushes", "messages/s", 2.0).worst is None
