"""One simulation: actors take turns as a seed or a script says, and the ledger judges every answer."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from random import Random
from typing import Final

from tests.simulation.actors import Actor
from tests.simulation.known import BrokenPromise
from tests.simulation.ledger import Ledger
from tests.simulation.places import PLACES, Place, virtual_time
from tests.simulation.scenarios import scenario
from tests.simulation.script import Crash, Event, Operation, Script, Sleep

Tell = Callable[[str], None]

place_of: Callable[[str], Place] = cache(lambda name: PLACES[name]())
"""The place of a name, opened once."""

A_LONG_TIME = 3_600.0


class World:
    """A store, and actors that work on it.

    Args:
        place: where they work; it is emptied.
        actors: what each of them does.
        tell: is told the story.
    """

    def __init__(self, place: Place, actors: Sequence[Sequence[Operation]], tell: Tell | None = None) -> None:
        self.place, self.tell = place, tell
        place.begin()
        self.ledger = Ledger(place.clock, place.caches)
        self.actors = [self._actor(number, operations) for number, operations in enumerate(actors)]

    def _actor(self, number: int, operations: Sequence[Operation]) -> Actor:
        store, connection = self.place.process(number)
        return Actor(number, operations, store, connection, self.ledger, self.place.clock, self.tell)

    @property
    def busy(self) -> list[int]:
        """The actors that are not over."""
        return [actor.number for actor in self.actors if actor.next is not None]

    def ready(self) -> list[int]:
        """Return the actors that can take a step; somebody always can."""
        busy = self.busy
        ready = [number for number in busy if not self.actors[number].blocked]
        if busy and not ready:
            raise BrokenPromise("somebody can always go on", f"{busy} wait for each other")
        return ready

    def happen(self, event: Event) -> None:
        """Let an event happen; a step of an actor that cannot take one is none."""
        match event:
            case Sleep(seconds):
                self.place.clock.sleep(seconds)
            case Crash(number):
                if self.actors[number].next is not None:
                    self.actors[number].crash()
            case int(number):
                actor = self.actors[number]
                if actor.next is not None and not actor.blocked:
                    actor.step()
        if self.tell is not None and not isinstance(event, int):
            self.tell(f"{self.place.clock.monotonic():9.3f} {event}")

    def finish(self) -> None:
        """Let the actors go on, one after the other; then do everything that is left, and check what remains."""
        while ready := self.ready():
            self.actors[ready[0]].step()
        self.place.clock.sleep(A_LONG_TIME)
        last = self._actor(len(self.actors), ())
        last.begin(last.drain(lambda: sorted(self.ledger.queues)))
        while last.next is not None:
            last.step()
        self.ledger.over(self.place.messages())
        self.ledger.history(self.place.turns())


OTHER_ERRORS: Final = "no other error is raised"
"""The rule that is broken where an error is raised that no caller expects."""


@contextmanager
def judged() -> Iterator[None]:
    """Any other error than those that callers expect is a broken promise as well."""
    try:
        yield
    except BrokenPromise:
        raise
    except Exception as error:
        raise BrokenPromise(OTHER_ERRORS, f"{type(error).__name__}: {error}") from error


def play(script: Script, tell: Tell | None = None) -> None:
    """Play a script.

    Raises:
        BrokenPromise: a store did what it promises not to do.
    """
    place = place_of(script.place)
    with virtual_time(place.clock), judged():
        world = World(place, script.actors, tell)
        for event in script.events:
            world.happen(event)
        world.finish()


def simulate(name: str, seed: int, tell: Tell | None = None) -> tuple[Script, BrokenPromise | None]:
    """Let actors do what a seed says, in an order that it says; return that as a script, and what was broken."""
    place, random = place_of(name), Random(seed)
    actors = scenario(random)
    events: list[Event] = []
    with virtual_time(place.clock):
        try:
            with judged():
                world = World(place, actors, tell)
                for event in order(world, random):
                    events.append(event)
                    world.happen(event)
                world.finish()
        except BrokenPromise as broken:
            return Script(name, actors, tuple(events)), broken
    return Script(name, actors, tuple(events)), None


def order(world: World, random: Random) -> Iterator[Event]:
    """Yield events in a random order until nobody has anything left to do.

    How often actors change, how often time passes and whether somebody crashes differ from seed to seed.
    """
    change, sleep, crash = random.choice((0.15, 0.5, 1.0)), random.choice((0.0, 0.1, 0.3)), random.choice((0.0, 0.04))
    current = -1
    while ready := world.ready():
        chance = random.random()
        if chance < sleep / 2:
            yield Sleep(random.choice(SPANS))
        elif chance > 1 - crash:
            yield Crash(random.choice(ready))
        else:
            if current not in ready or random.random() < change:
                current = random.choice(ready)
            yield current


SPANS = (0.1, 0.6, 1.0, 1.999999, 2.0, 3.0, 9.0)
"""How many seconds may pass at once: leases last for one, two or five."""
