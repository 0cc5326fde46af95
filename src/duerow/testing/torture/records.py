"""Checks that records came out of the pipeline as they must, and that the application's own rows ended once."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property

from duerow.store.join_sets import CORRELATION
from duerow.testing.torture.evidence import BrokenPromise, Item, Row
from duerow.testing.torture.ledger import WITHIN, Line
from duerow.testing.torture.pipelines import OUTPUTS, PARTS, SETS, STATIONS, WHOLE, act_of, outputs_of


class Passage:
    """What happened to the records that were pushed into the pipeline.

    Args:
        lines: the ledger.
        rows: all messages in the tables.
    """

    def __init__(self, lines: Sequence[Line], rows: Sequence[Row]) -> None:
        self.sent = {line.note for line in lines if line.what == "sent" and line.note is not None}
        self.there: dict[str, list[Row]] = defaultdict(list)
        for row in rows:
            record = record_of(row)
            if record is not None:
                self.there[record].append(row)

    @property
    def records(self) -> list[str]:
        """The names of all records that were certainly pushed or are in the tables."""
        return sorted({*self.sent, *self.there})

    def broken_promises(self) -> Iterator[BrokenPromise]:
        """Each record came out once: from each branch of the fork, or whole from the join. None is still on its way."""
        for record in self.records:
            for wrong in self._wrong(record, self.there.get(record, [])):
                ids = tuple(row.id for row in self.there.get(record, []))
                yield BrokenPromise(f"record {record} {wrong}", ids, (act_of(record),), (record,))

    def _wrong(self, record: str, rows: Sequence[Row]) -> Iterator[str]:
        if act_of(record).endswith(WITHIN) and record not in self.sent:
            yield "is there, although the transaction that pushed it was not committed"
        came = Counter(row.queue for row in rows if row.queue in OUTPUTS)
        waits = [f"it is {row.status} in {row.queue}" for row in rows if row.queue in STATIONS]
        on_the_way = f": {', '.join(waits)}" if waits else ""
        for output in OUTPUTS:
            due = int(output in outputs_of(record))
            if came[output] != due:
                yield f"came out of {output} {came[output]} times instead of {due}{on_the_way}"
                return
        if waits:
            yield f"came out, but is still on its way{on_the_way}"
        for row in rows:
            if row.queue == WHOLE and row.payload.get("parts") != [*range(PARTS)]:
                yield f"came out of {WHOLE} with the parts {row.payload.get('parts')}"


def record_of(row: Row) -> str | None:
    """Return the name of a message's record; None: the message is not part of the pipeline."""
    if row.queue == SETS:
        return str(json.loads(row.payload[CORRELATION]))
    return str(row.payload["record"]) if row.queue in (*STATIONS, *OUTPUTS) else None


class Items:
    """What happened to the rows of the application's own table.

    Args:
        lines: the ledger.
        items: the rows.
    """

    def __init__(self, lines: Sequence[Line], items: Sequence[Item]) -> None:
        self._lines, self.items = lines, items
        self.there: dict[str, list[Item]] = defaultdict(list)
        for one in items:
            self.there[one.record].append(one)

    @cached_property
    def inserted(self) -> set[str]:
        """The names of the rows whose insertion was committed."""
        return {*self._counted("inserted")}

    @property
    def records(self) -> list[str]:
        """The names of all rows that were certainly inserted or are in the table."""
        return sorted({*self.inserted, *self.there})

    @property
    def begun_again(self) -> int:
        """How many rows were handled more than once, which is allowed outside of transactional modes."""
        return sum(times > 1 for times in self._counted("row begun").values())

    def broken_promises(self) -> Iterator[BrokenPromise]:
        """Each inserted row is there and ended once. No turn began twice, and no effect happened twice."""
        ended, effects = self._counted("row ended"), self._counted("row effect")
        for record in self.records:
            for wrong in self._wrong(record, ended.get(record, 0), effects.get(record, 0)):
                yield BrokenPromise(f"row {record} {wrong}", (), (act_of(record),), (record,))
        begun = Counter((line.note, line.token) for line in self._lines if line.what == "row begun")
        for (name, token), times in begun.items():
            if times > 1 and name is not None:
                yield BrokenPromise(f"the turn {token} of row {name} was begun {times} times", (), (), (name,))

    def _wrong(self, record: str, ended: int, effects: int) -> Iterator[str]:
        there = self.there.get(record, [])
        if record not in self.inserted:
            yield "is there, although the transaction that inserted it was not committed"
        if len(there) != 1:
            yield f"was inserted once, but is there {len(there)} times"
            return
        (row,) = there
        if row.status != "done" or row.leased_by is not None or row.is_due:
            yield f"is stuck: {row}"
        if ended != 1:
            yield f"ended {ended} times: {row}"
        if effects > 1:
            yield f"had {effects} effects, although each is part of the transaction that ends the row"
        if ended and not row.handled:
            yield f"ended, but what its handler wrote is missing: {row}"

    def _counted(self, what: str) -> Mapping[str, int]:
        return Counter(line.note for line in self._lines if line.what == what and line.note is not None)
