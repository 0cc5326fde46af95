"""What the state machine chooses from: queues, keys, payloads, spans and settlements."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, Final

import msgspec
from hypothesis import strategies as st

from duerow.message import ON_DUPLICATE, OnDuplicate
from duerow.store import (
    Buried,
    Committed,
    End,
    Entry,
    Moved,
    Retention,
    RolledBack,
)
from duerow.testing.clock import START, hours, microseconds, minutes, seconds

NAMES: Final = ("mail", "billing")
"""Two queues are enough for moves to collide."""

LONG: Final = timedelta(days=3_650)
"""Longer than anything is kept, and longer than any run."""

FIRST: Final = -100
"""A priority before all others."""

ERROR: Final = '{"type":"Error","message":"no line","traceback":null}'

SPANS = st.sampled_from([seconds(0), microseconds(1), seconds(1), seconds(30), minutes(1), hours(1)])
LEASES = st.sampled_from([seconds(1), seconds(30), minutes(1), hours(1)])
STEPS_OF_TIME = st.sampled_from(
    [microseconds(1), seconds(1), seconds(29), seconds(30), minutes(1), hours(1), hours(24), seconds(-1), hours(-1)]
)
QUEUES = st.sampled_from(NAMES)
KEEPS = st.sampled_from(
    [None, None, Retention(history=hours(1)), Retention(keys=minutes(1)), Retention(history=hours(24), keys=hours(1))]
)
KEYS = st.sampled_from(["a", "b", "A", "a "])
PAYLOADS = st.sampled_from(["1", "2", '"1"', '{"a":1}'])
GROUPS = st.sampled_from([None, None, "g", "h"])
PRIORITIES = st.sampled_from([0, 0, 0, -1, 7])
HEADERS = st.sampled_from([None, '{"a":1}', '{"hops":1}'])
MODES: st.SearchStrategy[OnDuplicate] = st.sampled_from(ON_DUPLICATE)
TIMES = st.one_of(
    st.just((None, None)),
    SPANS.map(lambda span: (None, span)),
    SPANS.map(lambda span: (START + span, None)),
    SPANS.map(lambda span: (START - span, None)),
)
ENTRIES = st.builds(
    lambda queue, key, payload, headers, time, group, priority: Entry(
        queue, key, "json", payload, headers, time[0], time[1], group, priority
    ),
    QUEUES,
    st.none() | KEYS,
    PAYLOADS,
    HEADERS,
    TIMES,
    GROUPS,
    PRIORITIES,
)
MOVES = st.builds(
    lambda to, content, key, headers, time, mode, group, priority: Moved(
        to, content[0], content[1], key, headers, time[0], time[1], mode, group, priority
    ),
    QUEUES,
    st.sampled_from([(None, None), ("3", "json"), ('"AP8="', "bytes")]),
    st.none() | KEYS,
    HEADERS,
    TIMES,
    MODES,
    GROUPS,
    PRIORITIES,
)
PLACES = st.integers(0, 30)
"""The index of an item, taken modulo the number of items."""


class Given(msgspec.Struct, frozen=True):
    """A release with the reservation's own due time, which is filled in when the reservation is chosen."""


ENDS: st.SearchStrategy[End | Given] = st.one_of(
    st.builds(Committed, st.lists(ENTRIES, max_size=2).map(tuple)),
    st.builds(RolledBack, SPANS, st.sampled_from([None, ERROR])),
    st.builds(Buried, st.sampled_from([None, ERROR])),
    st.builds(Given),
    MOVES,
)


CHANGES: st.SearchStrategy[dict[str, Any]] = st.one_of(
    st.just({}),
    PAYLOADS.map(lambda payload: {"payload": payload, "kind": "json"}),
    HEADERS.map(lambda headers: {"headers": headers}),
    PRIORITIES.map(lambda priority: {"priority": priority}),
    st.just({"due": None}),
    SPANS.map(lambda span: {"due": START + span}),
    SPANS.map(lambda span: {"delay": span}),
    st.just({"delay": seconds(0), "anew": True}),
)
