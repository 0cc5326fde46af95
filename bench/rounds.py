"""Rounds in which the contestants take turns, so that a slow moment of the machine meets all of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping

Contestant = Callable[[], float]
"""Runs once, from a clean start, checks its effects, and returns its figure."""


def interleave(contestants: Mapping[str, Contestant], rounds: int) -> dict[str, list[float]]:
    """Let all run once a round, each round beginning with another one; return the figures by name."""
    names = list(contestants)
    figures: dict[str, list[float]] = {name: [] for name in names}
    for number in range(rounds):
        first = number % len(names)
        for name in names[first:] + names[:first]:
            figures[name].append(contestants[name]())
    return figures


def check_ids(expected: list[int], handled: list[list[int]], who: str) -> None:
    """Require that every id was handled exactly once, by whichever process."""
    seen = sorted(number for share in handled for number in share)
    if seen == sorted(expected):
        return
    twice = len(seen) - len(set(seen))
    missing = len(set(expected) - set(seen))
    raise AssertionError(
        f"{who} handled {len(seen)} messages of {len(expected)}: {missing} were missing, {twice} came twice"
    )
