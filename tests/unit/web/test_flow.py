"""How many messages take each way of a pipeline, as the dashboard draws it."""

import pytest

from duerow.pipeline.graph import Graph, Node
from duerow.web.dashboard.flow import DrawnStation, ways


def flows(kind: str, *rates: float) -> list[float]:
    """The flow on the ways of a station of this kind that 10 messages leave, to queues that so many leave."""
    names = [f"to-{number}" for number in range(len(rates))]
    graph = Graph("orders", (Node("first", kind, dict(zip(names, names, strict=True)), "f"),), tuple(names))
    found = [DrawnStation("first", kind, "f", "", "busy", rate=10.0)]
    found += [
        DrawnStation(name, "output", "", "", "output", rate=rate) for name, rate in zip(names, rates, strict=True)
    ]
    return [way.flow for way in ways(graph, found)]


@pytest.mark.parametrize(
    ("kind", "rates", "expected"),
    [
        ("fork", (1.0, 3.0), [10.0, 10.0]),
        ("switch", (1.0, 3.0), [2.5, 7.5]),
        ("switch", (0.0, 0.0), [5.0, 5.0]),
        ("split", (0.0,), [10.0]),
    ],
)
def test_a_fork_sends_everything_on_every_way_and_others_share_it(
    kind: str, rates: tuple[float, ...], expected: list[float]
) -> None:
    assert flows(kind, *rates) == expected
