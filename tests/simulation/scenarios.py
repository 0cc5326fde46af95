"""What actors do, chosen by a seed: few operations on few queues, so that they meet."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from tests.simulation.script import (
    SETS,
    Bury,
    Change,
    Commit,
    End,
    Extend,
    Join,
    Mode,
    Move,
    Operation,
    Pop,
    Prune,
    Push,
    Release,
    Remove,
    Reserve,
    Rollback,
    Set,
    Settle,
    Tick,
    Together,
)

QUEUES = ("mail", "bills")
KEYS = ("a", "b")
GROUPS = ("g", "h")
MODES: tuple[Mode, ...] = ("ignore", "replace", "earliest", "reject")
LEASES = (1, 2, 5)

ACTORS = (2, 3, 3, 4)
OPERATIONS = (2, 3, 4, 6)


class Theme:
    """What the messages of one simulation have, and what happens to them: each has only some of everything.

    Args:
        random: chooses.
    """

    def __init__(self, random: Random) -> None:
        self.random = random
        self.queue = random.choice(QUEUES)
        self.queues = (self.queue,) if random.random() < 0.6 else QUEUES
        self.keys = random.random() < 0.5
        self.groups = random.random() < 0.5
        self.attempts = random.choice((None, None, 1, 2))
        self.dead_letter = random.choice((None, "letters"))
        self.priorities = random.choice(((0,), (0,), (0, 5)))
        self.remembered = random.random() < 0.3
        self.joins = random.random() < 0.2
        self.operations = random.sample(
            (self.change, self.remove, self.pop, self.set, self.tick, self.prune), random.choice((1, 2))
        )
        self.ends: list[Callable[[], End]] = random.sample((self.rollback, Bury, Release, self.move, self.fork), 2)

    def push(self) -> Operation:
        """Return a push."""
        random = self.random
        keys = tuple(random.choice(KEYS) if self.keys else None for _ in range(random.choice((1, 1, 2, 3))))
        return Push(
            random.choice(self.queues),
            keys,
            random.choice(GROUPS) if self.groups else None,
            random.choice(self.priorities),
            random.choice((0, 0, 0, 1)),
            random.choice(MODES) if self.keys else "ignore",
            self.remembered,
        )

    def consume(self) -> list[Operation]:
        """Return a reservation, and what becomes of it."""
        random = self.random
        queue = SETS if self.joins and random.random() < 0.4 else random.choice(self.queues)
        attempts = None if queue == SETS else self.attempts
        found: list[Operation] = [
            Reserve(queue, random.choice((1, 2, 3)), random.choice(LEASES), attempts, attempts and self.dead_letter)
        ]
        if random.random() < 0.2:
            found.append(Extend(random.choice(LEASES)))
        if random.random() < 0.15:
            found.append(Settle((self.end(),), keep=True))
        found.append(Settle(tuple(self.end() for _ in range(3))))
        return found

    def end(self) -> End:
        """Return how a turn ends."""
        random = self.random
        if self.joins and random.random() < 0.7:
            return Join(random.choice(KEYS))
        return random.choice((Commit, *self.ends))()

    def rollback(self) -> End:
        """Return a failed attempt."""
        return Rollback(self.random.choice((0, 0, 1)))

    def move(self) -> End:
        """Return a move."""
        to = self.random.choice(("bills", "mail", "out"))
        return Move(to, self.random.choice((None, *KEYS)), self.random.choice(("ignore", "reject", "replace")))

    def fork(self) -> End:
        """Return an end that pushes."""
        return Commit(self.random.choice((1, 2)))

    def change(self) -> Operation:
        """Return what an operator does to a message."""
        random = self.random
        what = random.choice(("requeue", "requeue", "stop", "prioritise", "edit", "delay"))
        return Change(random.choice((*self.queues, "letters")), random.randrange(4), what, random.random() < 0.3)

    def remove(self) -> Operation:
        """Return a removal."""
        random = self.random
        which = random.choice(KEYS) if self.keys and random.random() < 0.5 else random.randrange(4)
        return Remove(random.choice(self.queues), which, random.random() < 0.3)

    def pop(self) -> Operation:
        """Return a pop."""
        return Pop(self.random.choice(self.queues), self.random.choice((1, 2)))

    def set(self) -> Operation:
        """Return a change of a queue."""
        random = self.random
        holds = random.random() < 0.6
        return Set(random.choice(self.queues), *random.choice(((holds, None), (None, holds))))

    def tick(self) -> Operation:
        """Return a look at the schedule."""
        return Tick()

    def prune(self) -> Operation:
        """Return a round of cleaning."""
        return Prune()

    def together(self) -> Operation:
        """Return several operations in one transaction."""
        others = [one for one in self.operations if one not in (self.set, self.prune)]  # nobody joins those
        made = (
            self.random.choice(others)() if others and self.random.random() < 0.3 else self.push() for _ in range(2)
        )
        return Together(tuple(made), self.random.random() < 0.7)

    def actor(self) -> tuple[Operation, ...]:
        """Return what one actor does."""
        random = self.random
        found: list[Operation] = []
        wanted = random.choice(OPERATIONS)
        while len(found) < wanted:
            chance = random.random()
            if chance < 0.3:
                found.append(self.push())
            elif chance < 0.7:
                found += self.consume()
            elif chance < 0.93:
                found.append(random.choice(self.operations)())
            else:
                found.append(self.together())
        return tuple(found)


def scenario(random: Random) -> tuple[tuple[Operation, ...], ...]:
    """Return what each actor does; the first one begins with a push."""
    theme = Theme(random)
    actors = [theme.actor() for _ in range(random.choice(ACTORS))]
    actors[0] = (theme.push(), theme.push(), *actors[0])
    if theme.tick in theme.operations:  # every worker looks at the schedules
        actors = [(Tick(), *actor, Tick()) for actor in actors]
    return tuple(actors)
