"""Many consumers of many queues in one process, and what a message costs them and the server."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import psycopg

from bench import cost
from bench.messages import QUEUE
from bench.processes import Prepared

TURN = 100
"""Messages in a batch."""

WARM_UP = 10
"""How often each consumer takes one message before: a server plans a statement anew the first times."""

PATIENCE_S = 60.0
"""For how long the consumers wait for each other to connect."""

Take = Callable[[str, int], int]
"""Claims and settles up to so many messages of a queue; returns their number."""


def queue_name(number: int) -> str:
    """Return the name of one of many queues."""
    return f"{QUEUE}-{number:04d}"


def take_in_turns(
    taker: Callable[[], Take], url: str, messages: int, queues: int, consumers: int
) -> Prepared[dict[str, float]]:
    """Claim and settle `messages`, by so many consumers at once, each of which goes through its share of the queues.

    If there are fewer queues than consumers, they share them. Each consumer is made by `taker`, and has taken some
    messages before the clock starts. Returns what a message cost the server and the client.
    """
    names = [queue_name(number) for number in range(queues)]
    shares = [names[number::consumers] or [names[number % queues]] for number in range(consumers)]
    pool = ThreadPoolExecutor(consumers)
    started = threading.Barrier(consumers, timeout=PATIENCE_S)

    def warm_up(share: list[str]) -> Take:
        take = taker()
        started.wait()
        for name in [*WARM_UP * share[:1], *share[: messages // TURN]]:
            take(name, 1)
        return take

    takes = list(pool.map(warm_up, shares))

    def work(take: Take, share: list[str]) -> int:
        taken, turn, idle = 0, 0, 0
        while taken < messages // consumers:
            got = take(share[turn % len(share)], TURN)
            taken, turn, idle = taken + got, turn + 1, 0 if got else idle + 1
            if idle > len(share):
                raise AssertionError(f"{taken} of {messages // consumers} messages were there for a consumer")
        return taken

    def run() -> dict[str, float]:
        with psycopg.connect(url, autocommit=True) as watching:
            before, client = cost.server_now(watching), time.process_time()
            taken = sum(pool.map(work, takes, shares))
            client, after = time.process_time() - client, cost.server_now(watching)
        spent = {name: (value - before[name]) / taken for name, value in after.items()}
        return spent | {"client_us": client * 1e6 / taken}

    return run
