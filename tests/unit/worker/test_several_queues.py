"""What a worker claims is shared out fairly among its queues."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from duerow.worker.several_queues import Round


def claim(turns: Round, stock: dict[str, int], limit: int) -> dict[str, int]:
    """Claim once, from queues that have so many; return how many each gave."""
    given_by: dict[str, int] = {}
    for share in turns.share(limit):
        share.given = min(share.limit, stock[share.queue.name])
        stock[share.queue.name] -= share.given
        given_by[share.queue.name] = given_by.get(share.queue.name, 0) + share.given
    return given_by


def turns_of(stock: dict[str, int], mixed: bool = True) -> Round:
    queues: list[Any] = [SimpleNamespace(name=name, database=None) for name in stock]
    return Round(queues, mixed)


STOCKS = st.dictionaries(st.sampled_from("abcdef"), st.integers(0, 50), min_size=1)


@given(STOCKS, st.integers(1, 100))
def test_a_claim_is_full_if_there_is_enough_and_each_queue_gives_as_much_as_the_others(
    stock: dict[str, int], limit: int
) -> None:
    before = dict(stock)
    gave = claim(turns_of(stock), stock, limit)
    assert sum(gave.values()) == min(limit, sum(before.values()))
    # Whoever has some left gave no less than others, but for what cannot be divided.
    left = [gave.get(name, 0) for name in stock if stock[name]]
    assert all(count <= least + len(stock) for least in left for count in gave.values())


@given(STOCKS, st.integers(1, 3))
def test_small_claims_go_round(stock: dict[str, int], limit: int) -> None:
    before = dict(stock)
    turns = turns_of(stock)
    total = {name: 0 for name in stock}
    while any(stock.values()):
        for name, count in claim(turns, stock, limit).items():
            total[name] += count
        busy = [name for name in stock if stock[name]]
        # No queue that still has messages has had much less than another one that has.
        assert all(total[one] - total[other] <= len(stock) * limit for one in busy for other in busy)
    assert total == before


def test_in_line_they_alternate_or_stay_together() -> None:
    lists = [["a1", "a2", "a3"], ["b1"], ["c1", "c2"]]
    assert turns_of({"a": 1}).in_line(lists) == ["a1", "b1", "c1", "a2", "c2", "a3"]
    assert turns_of({"a": 1}, mixed=False).in_line(lists) == ["a1", "a2", "a3", "b1", "c1", "c2"]
