"""Several queues in one worker: which handler belongs to which queue, and how all their messages form one line."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import Any, Protocol, TypeVar, runtime_checkable

from duerow.errors import ConfigurationError, shown

T = TypeVar("T")

_NOTHING: Any = object()


class Named(Protocol):
    """A queue, blocking or awaited."""

    database: Any
    name: str


Q = TypeVar("Q", bound=Named)


@runtime_checkable
class Entities(Protocol):
    """A queue whose messages are rows of the user's tables, blocking or awaited; see `duerow.entity`.

    Attributes:
        worker_queue: the queue of messages that a worker sees.
    """

    worker_queue: Any

    def settle_in(self) -> None:
        """Called where the handlers will run, before anything else is done; for the async API."""
        ...

    def handling(
        self,
        handler: Callable[..., Any],
        whole_batch: bool,
        transactional: bool,
        by_permit: bool,
        processes: int | None,
    ) -> Callable[..., Any]:
        """Return a handler of these messages that calls the user's handler with rows."""
        ...


def as_queues(queues: object, kind: type[Q], elsewhere: str) -> list[Q]:
    """Return the queues of a worker, which was given one queue or several.

    Args:
        queues: what the worker was given.
        kind: the required class of the queues.
        elsewhere: what the error says about any other object.

    Raises:
        ConfigurationError: no queue, the same one twice, queues of several databases, or something else.
    """
    given: list[Any] = list(queues) if isinstance(queues, list | tuple) else [queues]
    if not given:
        raise ConfigurationError("a worker takes one queue or several, not an empty list")
    for queue in given:
        if isinstance(queue, Entities):
            raise ConfigurationError(
                f"{shown(queue)} holds rows of a table: a worker takes only one such queue, not a list; make a worker "
                "for each, in its own thread or process"
            )
        if not isinstance(queue, kind):
            raise ConfigurationError(elsewhere.format(f"{type(queue).__module__}.{type(queue).__qualname__}"))
    names = [queue.name for queue in given]
    if len({id(queue.database) for queue in given}) > 1:
        raise ConfigurationError(
            f"the queues {', '.join(names)} belong to several databases; a worker works on one: make one for each"
        )
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise ConfigurationError(f"a worker takes each queue once; given twice: {', '.join(twice)}")
    return given


def handlers_of(handler: object, queues: Sequence[Named]) -> dict[str, Any]:
    """Return the handler of each queue, by its name: the same for all, or from a mapping of queues to handlers.

    Raises:
        ConfigurationError: a queue has no handler, or a handler no queue.
    """
    if not isinstance(handler, Mapping):
        return {queue.name: handler for queue in queues}
    named: dict[Any, Any] = {getattr(queue, "name", queue): one for queue, one in handler.items()}
    wanted = {queue.name for queue in queues}
    if missing := sorted(wanted - named.keys()):
        raise ConfigurationError(f"no handler is given for queue {', '.join(missing)}")
    if more := sorted(map(str, named.keys() - wanted)):
        raise ConfigurationError(f"a handler is given for {', '.join(more)}, which is not a queue of this worker")
    return named


def dispatching(handlers: Mapping[str, Callable[..., Any]]) -> Callable[..., Any]:
    """Return a handler that calls the one of the message's queue; a batch has messages of only one queue."""
    first, *others = handlers.values()
    return first if all(other is first for other in others) else Dispatcher(handlers)


class Dispatcher:
    """A handler that calls the handler of the message's queue."""

    def __init__(self, handlers: Mapping[str, Callable[..., Any]]) -> None:
        self._handlers = handlers

    def __call__(self, subject: Any, *more: Any) -> Any:
        """Call it with a message or the list of a batch, and a connection if there is one."""
        message = subject[0] if isinstance(subject, list) else subject
        return self._handlers[message.queue](subject, *more)


class Round:
    """Shares out the room for claims, so that no queue's backlog keeps the others waiting.

    Args:
        queues: the queues, in the order in which they were given.
        mixed: whether messages of all queues alternate in what is claimed; otherwise they stay together.
    """

    def __init__(self, queues: Sequence[Q], mixed: bool) -> None:
        self._queues, self._mixed = list(queues), mixed
        self._first = 0

    def share(self, limit: int) -> Iterator[Share]:
        """Yield how many messages to ask each queue for, until `limit` were given; the caller sets each share's answer.

        All queues are asked for the same number. If some have fewer, those with more are asked for the rest. The next
        call starts after the first queue that had something this time.
        """
        hungry = self._queues[self._first :] + self._queues[: self._first]
        gave = False
        while limit and hungry:
            each, full = -(-limit // len(hungry)), []
            for queue in hungry:
                share = Share(queue, min(each, limit))
                if not share.limit:
                    break
                yield share
                if share.given and not gave:
                    gave, self._first = True, (self._queues.index(queue) + 1) % len(self._queues)
                limit -= share.given
                if share.given == share.limit:
                    full.append(queue)
            hungry = full

    def in_line(self, lists: Sequence[Sequence[T]]) -> list[T]:
        """Put the messages of the queues in one line."""
        if not self._mixed:
            return [one for part in lists for one in part]
        rows = zip_longest(*lists, fillvalue=_NOTHING)
        return [one for row in rows for one in row if one is not _NOTHING]


class Share:
    """What one queue is asked for: at most `limit` messages; the caller sets `given` to how many it had."""

    __slots__ = ("given", "limit", "queue")

    def __init__(self, queue: Any, limit: int) -> None:
        self.queue, self.limit = queue, limit
        self.given = 0
