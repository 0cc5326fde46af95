"""Several queues in one worker: which handler is whose, and how messages of all are put in one line."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import Any, Protocol, TypeVar, runtime_checkable

from duerow.errors import ConfigurationError

T = TypeVar("T")

_NOTHING: Any = object()


class Named(Protocol):
    """A queue of either face."""

    database: Any
    name: str


Q = TypeVar("Q", bound=Named)


@runtime_checkable
class Entities(Protocol):
    """A queue whose messages are rows of the user's, of either face; see `duerow.entity`.

    Attributes:
        line: the queue of messages that it is for a worker.
    """

    line: Any

    def settle_in(self) -> None:
        """Called where the handlers will run, before anything else is done; for the awaited face."""
        ...

    def handling(
        self,
        handler: Callable[..., Any],
        whole_batch: bool,
        transactional: bool,
        by_permit: bool,
        processes: int | None,
    ) -> Callable[..., Any]:
        """Return the handler of those messages that calls the user's, which takes rows."""
        ...


def as_queues(queues: object, kind: type[Q], elsewhere: str) -> list[Q]:
    """Return the queues of a worker, of which one was given or several.

    Args:
        queues: what the worker was given.
        kind: what a queue of its face is.
        elsewhere: what to say about anything else.

    Raises:
        ConfigurationError: none, the same twice, of several databases, or something else.
    """
    given: list[Any] = list(queues) if isinstance(queues, list | tuple) else [queues]
    if not given:
        raise ConfigurationError("a worker takes one queue or several, not an empty list")
    for queue in given:
        if isinstance(queue, Entities):
            raise ConfigurationError(
                f"{queue!r:.120} is of rows of a table: a worker takes one such alone, not in a list; make a worker "
                "for each, in a thread or a process of its own"
            )
        if not isinstance(queue, kind):
            raise ConfigurationError(elsewhere.format(f"{type(queue).__module__}.{type(queue).__qualname__}"))
    names = [queue.name for queue in given]
    if len({id(queue.database) for queue in given}) > 1:
        raise ConfigurationError(
            f"the queues {', '.join(names)} are of several databases; a worker works on one: make one for each"
        )
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise ConfigurationError(f"a worker takes each queue once; given twice: {', '.join(twice)}")
    return given


def handlers_of(handler: object, queues: Sequence[Named]) -> dict[str, Any]:
    """Return the handler of each queue, by its name: the same for all, or as a mapping of queues says.

    Raises:
        ConfigurationError: a queue has no handler, or a handler no queue.
    """
    if not isinstance(handler, Mapping):
        return {queue.name: handler for queue in queues}
    named: dict[Any, Any] = {getattr(queue, "name", queue): one for queue, one in handler.items()}
    wanted = {queue.name for queue in queues}
    if missing := sorted(wanted - named.keys()):
        raise ConfigurationError(f"no handler is given for the queue {', '.join(missing)}")
    if more := sorted(map(str, named.keys() - wanted)):
        raise ConfigurationError(f"a handler is given for {', '.join(more)}, which is no queue of this worker")
    return named


def dispatching(handlers: Mapping[str, Callable[..., Any]]) -> Callable[..., Any]:
    """Return one handler that calls that of the message's queue; of a batch all are of one."""
    first, *others = handlers.values()
    return first if all(other is first for other in others) else Dispatcher(handlers)


class Dispatcher:
    """A handler that calls that of the message's queue."""

    def __init__(self, handlers: Mapping[str, Callable[..., Any]]) -> None:
        self._handlers = handlers

    def __call__(self, subject: Any, *more: Any) -> Any:
        """Call it with a message or the list of a batch, and a connection if there is one."""
        message = subject[0] if isinstance(subject, list) else subject
        return self._handlers[message.queue](subject, *more)


class Round:
    """Whose turn it is: shares out what is claimed, so that no queue's backlog keeps others waiting.

    Args:
        queues: the queues, in the order in which they were given.
        mixed: whether messages of all queues alternate in what is claimed; else they stay together.
    """

    def __init__(self, queues: Sequence[Q], mixed: bool) -> None:
        self._queues, self._mixed = list(queues), mixed
        self._first = 0

    def share(self, limit: int) -> Iterator[Share]:
        """Yield which queue to ask for how many, until so many were given; each share wants its answer.

        Each queue is asked for as many as the others; what some do not have is asked of those that have more. The
        first to be asked next time is the one behind the first that had something now.
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
        """Put what the queues gave in one line."""
        if not self._mixed:
            return [one for part in lists for one in part]
        rows = zip_longest(*lists, fillvalue=_NOTHING)
        return [one for row in rows for one in row if one is not _NOTHING]


class Share:
    """What one queue is asked for: at most `limit` messages; `given` is to say how many it had."""

    __slots__ = ("given", "limit", "queue")

    def __init__(self, queue: Any, limit: int) -> None:
        self.queue, self.limit = queue, limit
        self.given = 0
