"""The rules of the protocol, as stated by the models in `model/`, checked on a recorded trace.

A rule looks at one message and its tokens, so it does not depend on the order of events in several processes. Where two
messages are compared, only certain facts count: a message was held from the end of its hand-out to the beginning of its
settlement. Events that may not have happened break no rule.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, Final

from duerow.testing.trace import Event

OUT: Final = frozenset(("handed", "popped"))
"""Events that give a message to a consumer."""

LEAVING: Final = frozenset(("Committed",))
"""Ends after which a message no longer exists. A part of a set, or a moved message, may still exist."""

STAYING: Final = frozenset(("RolledBack", "Released"))
"""Ends after which a message stays in its queue, with its key."""

LARGEST: Final = 1 << 62
"""Only damaged rows have tokens from here on; databases may be unable to raise them."""

AFTER_AN_END: Final = 2
"""By how much the token of the next hand-out is larger if a write has ended the turn; if none has, by one."""


@dataclass(frozen=True)
class Violation:
    """A rule that was broken.

    Attributes:
        rule: the rule that should hold.
        events: the events that break it.
    """

    rule: str
    events: tuple[Event, ...]

    def __str__(self) -> str:
        return "\n  ".join([f"not so: {self.rule}", *map(str, dict.fromkeys(self.events))])


@dataclass(frozen=True)
class Span:
    """A time in which something is certain about a message: from the end of one event to the beginning of another."""

    first: Event
    last: Event

    def surrounds(self, event: Event) -> bool:
        """Whether another message's event certainly happened within this time."""
        return self.first.id != event.id and self.first.ended < event.began and event.ended < self.last.began


def check(events: Iterable[Event]) -> list[Violation]:
    """Return every rule that a trace breaks, with the events that break it."""
    chains = Chains([event for event in events if event.sure and event.token < LARGEST])
    return [Violation(rule, found) for rule, look in RULES.items() for found in look(chains)]


class Chains:
    """The events of a trace by message and token.

    Args:
        events: the events that certainly happened, in any order.
    """

    def __init__(self, events: Sequence[Event]) -> None:
        self.events = sorted(events, key=lambda event: (event.id, event.token, event.ended))
        self._of_turn: dict[tuple[int, int], dict[str, list[Event]]] = defaultdict(dict)
        for event in self.events:
            kind = "out" if event.what in OUT else event.what
            self._of_turn[event.id, event.token].setdefault(kind, []).append(event)

    @cached_property
    def of_message(self) -> dict[int, list[Event]]:
        """All events of each message except extensions, in the order of their tokens."""
        found: dict[int, list[Event]] = defaultdict(list)
        for event in self.events:
            if event.what != "extended":
                found[event.id].append(event)
        return found

    def of(self, id: int, token: int, kind: str) -> list[Event]:
        """Return the events of a kind with a token: `out`, `extended` or `settled`."""
        return self._of_turn.get((id, token), {}).get(kind, [])

    def end(self, handed: Event, before: Event) -> Event:
        """Return the event that determines when a lease ends: the last extension that finished before another event."""
        extended = self.of(handed.id, handed.token, "extended")
        return [handed, *(event for event in extended if event.ended < before.began)][-1]

    def is_within_lease(self, event: Event, handed: Event) -> bool:
        """Whether a message was handed out before the lease of another hand-out ended, by the database's clock."""
        until = self.end(handed, event).until
        return until is not None and event.at is not None and event.at < until

    def repeated(self, kind: str) -> Iterator[tuple[Event, ...]]:
        """Yield the events of this kind for each turn that has several."""
        for of_kind in self._of_turn.values():
            if len(of_kind.get(kind, ())) > 1:
                yield tuple(of_kind[kind])

    def each(self, *kinds: str) -> Iterator[tuple[Event, ...]]:
        """Yield the first events of these kinds for each turn that has all of them."""
        for of_kind in self._of_turn.values():
            if all(kind in of_kind for kind in kinds):
                yield tuple(of_kind[kind][0] for kind in kinds)


def handed_out_twice(chains: Chains) -> Iterator[tuple[Event, ...]]:
    """Yield hand-outs with the same token."""
    return chains.repeated("out")


def settled_twice(chains: Chains) -> Iterator[tuple[Event, ...]]:
    """Yield settlements of the same turn."""
    return chains.repeated("settled")


def too_early(chains: Chains) -> Iterator[tuple[Event, ...]]:
    """Yield hand-outs during a lease whose turn had not ended."""
    for (handed,) in chains.each("out"):
        for after in chains.of(handed.id, handed.token + 1, "out"):
            if chains.is_within_lease(after, handed):
                yield handed, chains.end(handed, after), after


def settled_too_late(chains: Chains) -> Iterator[tuple[Event, ...]]:
    """Yield settlements and extensions of turns that another consumer had already taken over."""
    for (handed,) in chains.each("out"):
        yield from ((handed, settled) for settled in chains.of(handed.id, handed.token - 1, "settled"))
        for extended in chains.of(handed.id, handed.token - 1, "extended"):
            if handed.ended < extended.began:
                yield handed, extended


def back_again(chains: Chains) -> Iterator[tuple[Event, ...]]:
    """Yield hand-outs of messages that had left."""
    for events in chains.of_message.values():
        left = [event for event in events if event.what == "popped" or event.how in LEAVING]
        if left:
            yield from ((left[0], event) for event in events if event.what in OUT and left[0].ended < event.began)


def back_in_time(chains: Chains) -> Iterator[tuple[Event, ...]]:
    """Yield hand-outs with a lower token than an earlier one."""
    for events in chains.of_message.values():
        out = [event for event in events if event.what in OUT]
        for lower, higher in pairwise(out):
            if lower.token < higher.token and higher.ended < lower.began:
                yield higher, lower


def held_together(chains: Chains) -> Iterator[tuple[Event, ...]]:
    """Yield hand-outs of a group while another message of the group was held and its lease had not ended."""
    spans: dict[Any, list[Span]] = defaultdict(list)
    points: dict[Any, list[Event]] = defaultdict(list)
    for handed, settled in chains.each("out", "settled"):
        spans[handed.queue, handed.group].append(Span(handed, settled))
    for (out,) in chains.each("out"):
        if out.group is not None:
            points[out.queue, out.group].append(out)
    for place, of_group in points.items():
        for span, out in surrounded(spans[place], of_group):
            if chains.is_within_lease(out, span.first):
                yield span.first, out, span.last


def key_held_twice(chains: Chains) -> Iterator[tuple[Event, ...]]:
    """Yield signs of life of a message while another message certainly held its key."""
    spans: dict[Any, list[Span]] = defaultdict(list)
    points: dict[Any, list[Event]] = defaultdict(list)
    for events in chains.of_message.values():
        keyed: Event | None = None
        for first, then in pairwise(events):
            keyed = first if first.what != "settled" else keyed
            if keyed is not None and keyed.key is not None and _has_stayed(first, then):
                spans[keyed.queue, keyed.key].append(Span(first, then))
        for event in events:
            if event.what in ("pushed", "handed") and event.key is not None:
                points[event.queue, event.key].append(event)
    for place, of_key in points.items():
        yield from ((span.first, event, span.last) for span, event in surrounded(spans[place], of_key))


def _has_stayed(first: Event, then: Event) -> bool:
    """Whether nothing happened to a message between two of its events, in the order of tokens."""
    if then.what == "settled":
        return first.what == "handed" and first.token == then.token
    if first.what == "settled":
        return first.how in STAYING and then.token == first.token + AFTER_AN_END
    return first.what in ("pushed", "handed") and then.token == first.token + 1


def surrounded(spans: Sequence[Span], events: Sequence[Event]) -> Iterator[tuple[Span, Event]]:
    """Yield each event with the spans of other messages that surround it."""
    coming = sorted(spans, key=lambda span: span.first.ended, reverse=True)
    begun: list[Span] = []
    for event in sorted(events, key=lambda event: event.began):
        while coming and coming[-1].first.ended < event.began:
            begun.append(coming.pop())
        begun = [span for span in begun if span.last.began > event.began]
        yield from ((span, event) for span in begun if span.surrounds(event))


BY_THE_CLOCK: Final = "a message is handed out only after its lease, or its turn, has ended"
"""The rule that holds only if all processes use the same clock."""

RULES: Final[dict[str, Callable[[Chains], Iterator[tuple[Event, ...]]]]] = {
    "a turn is handed out once": handed_out_twice,
    "a turn has one settlement with effect": settled_twice,
    BY_THE_CLOCK: too_early,
    "a turn that was taken over is neither settled nor extended": settled_too_late,
    "a message that has left is not handed out": back_again,
    "tokens grow": back_in_time,
    "only one message of a group is out at a time": held_together,
    "a key has one live message": key_held_twice,
}
"""The rules, each with the function that finds the events that break it."""
