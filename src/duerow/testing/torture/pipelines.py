"""A pipeline for records: a relay, a switch, a fork, and a split with its join.

    records -> sorting -> copying  -> left, right
                       -> dividing -> gathering -> whole

A record's name consists of the number of the act that pushed it and a number within this act. The name decides whether
the record is copied or divided, so a verdict knows where it must come out.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any, Final

import duerow
from duerow import Draft, Fork, Join, Message, Pipeline, Queue, Relay, Split, Switch
from duerow.pipeline.stations import Station
from duerow.testing.torture.environment import LEASES, Setting
from duerow.testing.torture.handler import Failed, take_a_moment
from duerow.testing.torture.ledger import Ledger, Line

RECORDS: Final = "records"
"""The entry."""

SORTING, COPYING, DIVIDING, GATHERING = "sorting", "copying", "dividing", "gathering"
SETS: Final = f"{GATHERING}/sets"
LEFT, RIGHT, WHOLE = "left", "right", "whole"

STATIONS: Final = (RECORDS, SORTING, COPYING, DIVIDING, GATHERING, SETS)
"""The queues that hold records on their way through the pipeline."""

OUTPUTS: Final = (LEFT, RIGHT, WHOLE)
"""The output queues, whose messages no process takes."""

PARTS: Final = 3
"""The number of parts into which a record is divided."""

BLOCKING, AWAITED = "pipeline", "awaited pipeline"
KINDS: Final = (BLOCKING, AWAITED)
"""The kinds of consumers that run the pipeline."""

ENOUGH: Final = 60
"""The number of messages in the pipeline from which producers add no more records."""

UNDER_CONFLICTS: Final = 10
"""The factor by which leases are longer in databases that refuse conflicting writes.

When several processes hold parts of the same set, their writes conflict again and again, and the pauses between tries
grow longer than the usual leases of a run. Other processes would then take the parts and run into the same conflicts,
and the set would never be complete.
"""

GROUPS: Final = 5
PAUSE: Final = timedelta(milliseconds=50)


def name_of(act: str, number: int) -> str:
    """Return the name of a record."""
    return f"{act}/{number}"


def act_of(record: str) -> str:
    """Return the act that pushed or inserted a record."""
    return record.partition("/")[0]


def outputs_of(record: str) -> tuple[str, ...]:
    """Return the output queues in which a record must appear, once in each."""
    return (LEFT, RIGHT) if is_copied(record) else (WHOLE,)


def is_copied(record: str) -> bool:
    """Whether a record is copied; otherwise it is divided."""
    return int(record.rpartition("/")[2]) % 2 == 1


def carry(setting: Setting, kind: str, ready: Callable[[], None]) -> None:
    """Run the pipeline until killed."""
    stations = Stations(setting)
    if kind == AWAITED:
        asyncio.run(_carry_async(setting, stations, ready))
        return
    with setting.open() as database:
        ready()
        stations.pipeline().run(database, until=None, signals=False)


async def _carry_async(setting: Setting, stations: Stations, ready: Callable[[], None]) -> None:
    async with await setting.aopen() as database:
        ready()
        await stations.pipeline().arun(database, until=None, signals=False)


class Stations:
    """The functions of the stations. Each records its input in the ledger before it does anything else.

    Args:
        setting: the settings of the process.
    """

    def __init__(self, setting: Setting) -> None:
        self.chance, self.ledger = setting.chance, Ledger(setting)
        factor = 1 if setting.access.writes_wait else UNDER_CONFLICTS
        self.lease = timedelta(milliseconds=factor * self.chance.choice(LEASES))

    def pipeline(self) -> Pipeline:
        """Return the pipeline. No station gives up, and a set waits for its parts longer than any run takes."""
        terms: dict[str, Any] = {"retry": duerow.fixed(PAUSE), "lease": self.lease}
        stations: Sequence[Station] = [
            Relay(RECORDS, self.look_at, to=SORTING, **terms),
            Switch(SORTING, self.sort, to={"copy": COPYING, "divide": DIVIDING}, **terms),
            Fork(COPYING, self.copy, to=[LEFT, RIGHT], **terms),
            Split(DIVIDING, self.divide, to=GATHERING, **terms),
            Join(
                GATHERING,
                self.gather,
                to=WHOLE,
                by="payload.record",
                count=PARTS,
                within=timedelta(days=30),
                **terms,
            ),
        ]
        return Pipeline("parcels", stations, outputs=OUTPUTS)

    def look_at(self, message: Message) -> Any:
        """A relay: send the record on."""
        self._work(message)
        return message.payload

    def sort(self, message: Message) -> Any:
        """A switch: send the record one of two ways."""
        self._work(message)
        return "copy" if is_copied(message.payload["record"]) else "divide", message.payload

    def copy(self, message: Message) -> Any:
        """A fork: send the record both ways."""
        self._work(message)
        return {LEFT: message.payload, RIGHT: message.payload}

    def divide(self, message: Message) -> Any:
        """A split: send on the parts of the record, one by one."""
        self._work(message)
        return [{**message.payload, "part": part} for part in range(PARTS)]

    def gather(self, parts: Sequence[Message]) -> Any:
        """A join: return a message that lists its parts."""
        record = parts[0].payload["record"]
        self.ledger.write(Line("called", act_of(record), SETS, note=record))
        self._think()
        return {"record": record, "parts": sorted(part.payload["part"] for part in parts)}

    def _work(self, message: Message) -> None:
        record = message.payload["record"]
        line = Line("called", act_of(record), message.queue, message.id, message.token, message.group, note=record)
        self.ledger.write(line)
        self._think()

    def _think(self) -> None:
        """Take a moment, and fail now and then."""
        take_a_moment(self.chance)
        if self.chance.random() < 0.1:
            raise Failed("this attempt")


class RecordSender:
    """Pushes records into the pipeline, as part of a producer.

    Args:
        setting: the settings of the process.
        database: its handle.
        ledger: the producer's ledger.
    """

    def __init__(self, setting: Setting, database: duerow.Database, ledger: Ledger) -> None:
        self.setting, self.ledger, self.chance = setting, ledger, setting.chance
        self.queue: Queue[Any] = database.queue(RECORDS)
        self.ways: dict[Callable[[], None], int] = {self.send_records: 2, self.send_records_with_a_row: 1}

    def send_records(self) -> None:
        """Push some records."""
        if self._are_enough:
            return
        act = self.ledger.new_act()
        drafts = self._drafts(act)
        self.ledger.write(Line("pushing", act, RECORDS))
        self.queue.push_many(drafts)
        self.ledger.write(*self._lines(act, drafts), Line("over", act, RECORDS))

    def send_records_with_a_row(self) -> None:
        """Push some records together with lines of the ledger, both or neither; sometimes roll back."""
        if self._are_enough:
            return
        act = self.ledger.new_act(within=True)
        drafts = self._drafts(act)
        with self.ledger.transaction(act, RECORDS) as opened:
            self.ledger.write(*self._lines(act, drafts), within=opened)
            self.queue.push_many(drafts, within=opened)

    @property
    def _are_enough(self) -> bool:
        return self.setting.access.waiting(STATIONS) >= ENOUGH

    def _drafts(self, act: str) -> list[Draft]:
        count, chance = self.chance.choice((1, 2, 5)), self.chance
        first = chance.randrange(2)  # otherwise a single record would always be divided
        groups = (f"g-{chance.randrange(GROUPS)}" if chance.random() < 0.4 else None for _ in range(count))
        return [Draft({"record": name_of(act, first + n)}, group=group) for n, group in enumerate(groups)]

    def _lines(self, act: str, drafts: Sequence[Draft]) -> list[Line]:
        return [Line("sent", act, RECORDS, group=draft.group, note=draft.payload["record"]) for draft in drafts]
