"""Spans from push to settlement that follow OpenTelemetry's messaging conventions; the context travels in headers.

A message carries `traceparent` and `tracestate` (or what the configured propagator writes) through stations, retries
and dead letters, to other processes and databases.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from inspect import isawaitable
from time import time_ns
from typing import Any, Final

import msgspec
from opentelemetry import propagate, trace
from opentelemetry.context import Context
from opentelemetry.trace import Link, Span, SpanKind, Status, StatusCode, Tracer, TracerProvider, use_span

from duerow.message import Draft, Message
from duerow.payload.codec import MAX_HEADERS_BYTES
from duerow.settlement import Bury, Commit, Move, Retry, Rollback
from duerow.store.join_sets import PARTS
from duerow.telemetry import hooks
from duerow.telemetry.hooks import WatchedCall, watching
from duerow.worker import middleware, rounds
from duerow.worker.rounds import FrameRound, numbers_of

SYSTEM: Final = "duerow"

MOST_LINKS: Final = 128
"""The maximum number of links of a span: as many as OpenTelemetry keeps by default."""


def trace_queues(provider: TracerProvider | None = None) -> Callable[[], None]:
    """Trace pushes, claims, handlers and settlements; return a function that stops it.

    Only workers that are created later are traced.

    Args:
        provider: creates the spans; default: the one that the program has configured.
    """
    tracing = _Tracing(trace.get_tracer("duerow", tracer_provider=provider))
    detach = hooks.attach(
        {
            "push": watching(tracing.push),
            "push_many": watching(tracing.push_many),
            "reserve_many": watching(tracing.reserve),
            "pop_many": watching(tracing.pop),
            "settle": watching(tracing.settle),
            "settle_one": watching(tracing.settle_one),
        }
    )
    middleware.EVERYWHERE.insert(0, tracing.handle)
    rounds.AROUND.insert(0, tracing.frame)

    def end() -> None:
        detach()
        if tracing.frame in rounds.AROUND:
            rounds.AROUND.remove(tracing.frame)
        if tracing.handle in middleware.EVERYWHERE:
            middleware.EVERYWHERE.remove(tracing.handle)

    return end


class _Tracing:
    def __init__(self, tracer: Tracer) -> None:
        self._tracer = tracer

    # Producers.

    def push(self, queue: Any, call: WatchedCall) -> Generator[None, None, None]:
        with self._producing(queue.name) as span:
            call.kwargs["headers"] = with_context(call.kwargs.get("headers"))
            yield
            span.set_attribute("messaging.message.id", str(call.result.id))
            span.set_attribute("duerow.push.outcome", call.result.outcome)

    def push_many(self, queue: Any, call: WatchedCall) -> Generator[None, None, None]:
        with self._producing(queue.name) as span:
            drafts = call.args[0] if call.args else call.kwargs.get("drafts")
            if isinstance(drafts, Iterable) and not isinstance(drafts, str | bytes | Mapping):
                each = [_draft_with_context(draft) for draft in drafts]
                call.args, call.kwargs = (each, *call.args[1:]), {**call.kwargs}
                call.kwargs.pop("drafts", None)
                span.set_attribute("messaging.batch.message_count", len(each))
            yield

    def _producing(self, queue: str) -> Any:
        return self._tracer.start_as_current_span(
            f"push {queue}", kind=SpanKind.PRODUCER, attributes=_attributes("push", "send", queue)
        )

    # Consumers.

    def reserve(self, queue: Any, call: WatchedCall) -> Generator[None, None, None]:
        yield from self._receiving("reserve", queue.name, call, lambda one: one.message)

    def pop(self, queue: Any, call: WatchedCall) -> Generator[None, None, None]:
        yield from self._receiving("pop", queue.name, call, lambda one: one)

    def _receiving(
        self, operation: str, queue: str, call: WatchedCall, message_of: Callable[[Any], Message]
    ) -> Generator[None, None, None]:
        """Create a span for a claim that found something; idle workers claim again and again."""
        begun = time_ns()
        yield
        if call.result:
            messages = [message_of(one) for one in call.result]
            span = self._tracer.start_span(
                f"{operation} {queue}",
                kind=SpanKind.CLIENT,
                attributes={
                    **_attributes(operation, "receive", queue),
                    "messaging.batch.message_count": len(messages),
                },
                links=_links(messages),
                start_time=begun,
            )
            span.end()

    def settle(self, queue: Any, call: WatchedCall) -> Generator[None, None, None]:
        pairs = list(call.args[0]) if call.args and isinstance(call.args[0], Iterable) else []
        if pairs:
            call.args = (pairs, *call.args[1:])
        messages = [pair[0].message for pair in pairs if isinstance(pair, tuple) and hasattr(pair[0], "message")]
        span = self._settling(queue.name, messages)
        try:
            yield
            if call.result:
                span.set_attribute("duerow.settle.refused", len(call.result))
        except BaseException as error:
            _failed(span, error)
            raise
        finally:
            span.end()

    def settle_one(self, queue: Any, call: WatchedCall) -> Generator[None, None, None]:
        reservation, settlement, *more = call.args
        if trace.get_current_span().get_span_context().is_valid:
            call.args = (reservation, _sent_with_context(settlement, getattr(reservation, "message", None)), *more)
        message = getattr(reservation, "message", None)
        span = self._settling(queue.name, [] if message is None else [message])
        try:
            yield
        except BaseException as error:
            _failed(span, error)
            raise
        finally:
            span.end()

    def _settling(self, queue: str, messages: Sequence[Message]) -> Span:
        return self._tracer.start_span(
            f"settle {queue}",
            kind=SpanKind.CLIENT,
            attributes={
                **_attributes("settle", "settle", queue),
                "messaging.batch.message_count": len(messages),
            },
            links=_links(messages),
        )

    # Handlers.

    def handle(self, subject: Any, call_next: Callable[[Any], Any]) -> Any:
        """Call a handler in a span: a child of the push, or linked to the pushes of a batch or of a set."""
        span = self._processing(subject)
        with use_span(span, record_exception=False, set_status_on_exception=False):
            try:
                outcome = call_next(subject)
                if not isawaitable(outcome):
                    outcome = _ended(span, subject, outcome)
            except BaseException as error:
                _failed(span, error)
                span.end()
                raise
        if isawaitable(outcome):
            return self._awaited(span, subject, outcome)
        span.end()
        return outcome

    @contextmanager
    def frame(self, one: FrameRound) -> Iterator[None]:
        """Run a round of a frame station in a span, without links to pushes: the driver does not read headers."""
        attributes = {**_attributes("process", "process", one.queue), "messaging.batch.message_count": one.messages}
        span = self._tracer.start_span(
            f"process {one.queue}", context=Context(), kind=SpanKind.CONSUMER, attributes=attributes
        )
        with use_span(span, end_on_exit=True, record_exception=False, set_status_on_exception=False):
            try:
                yield
            except BaseException as error:
                _failed(span, error)
                raise
            for name, value in numbers_of(one.observed).items():  # text may quote a payload
                span.set_attribute(f"duerow.observed.{name}", value)
            if one.failed:
                span.set_attribute("duerow.batch.failed", one.failed)
                _failed(span, None)

    async def _awaited(self, span: Span, subject: Any, awaited: Awaitable[Any]) -> Any:
        with use_span(span, end_on_exit=True, record_exception=False, set_status_on_exception=False):
            try:
                return _ended(span, subject, await awaited)
            except BaseException as error:
                _failed(span, error)
                raise

    def _processing(self, subject: Any) -> Span:
        messages = [one for one in (subject if isinstance(subject, list | tuple) else [subject]) if _is_message(one)]
        queue = messages[0].queue if messages else "rows"
        attributes = _attributes("process", "process", queue)
        parent: Context | None = None
        links: Sequence[Link] = ()
        if len(messages) == 1 and not isinstance(subject, list | tuple):
            (message,) = messages
            attributes |= {"messaging.message.id": str(message.id), "duerow.message.attempt": message.attempts}
            parent = context_of(message.headers)
            if parts := _parts_of(message):
                links = _links_to(parts)
                traces = {link.context.trace_id for link in links}
                parent = context_of(parts[0]) if len(traces) == 1 else parent
        else:
            attributes["messaging.batch.message_count"] = len(messages)
            links = _links(messages)
        context = parent if parent is not None else Context()
        return self._tracer.start_span(
            f"process {queue}", context=context, kind=SpanKind.CONSUMER, attributes=attributes, links=links
        )


def _attributes(name: str, kind: str, queue: str) -> dict[str, Any]:
    return {
        "messaging.system": SYSTEM,
        "messaging.operation.name": name,
        "messaging.operation.type": kind,
        "messaging.destination.name": queue,
    }


# The context in headers.


def with_context(headers: Any, beside: Mapping[str, Any] | None = None) -> Any:
    """Return headers with the context of the current span; unchanged if they already have one, or no room for it.

    Args:
        headers: the headers to push; anything that is not a mapping is returned unchanged, to be refused later.
        beside: the message's other headers, which count toward the same limit.
    """
    if headers is not None and not isinstance(headers, Mapping):
        return headers
    context: dict[str, str] = {}
    propagate.inject(context)
    own = dict(headers or {})
    if not context or any(name in own for name in context):
        return headers
    stamped = {**own, **context}
    try:
        size = len(msgspec.json.encode({**(beside or {}), **stamped}))
    except (TypeError, ValueError):
        return headers  # to be refused as they are
    return stamped if size <= MAX_HEADERS_BYTES - _SPARE else headers


_SPARE: Final = 64
"""Bytes left for headers that duerow adds, such as the number of hops."""


def context_of(headers: Mapping[str, Any]) -> Context | None:
    """Return the context in headers; None if there is none."""
    context = propagate.extract({name: str(value) for name, value in headers.items()}, Context())
    return context if trace.get_current_span(context).get_span_context().is_valid else None


def _draft_with_context(draft: Any) -> Any:
    if not isinstance(draft, Draft):
        return draft
    return msgspec.structs.replace(draft, headers=with_context(draft.headers))


def _sent_with_context(outcome: Any, message: Message | None) -> Any:
    """Return an outcome in which messages to other queues carry the context of the current span."""
    if isinstance(outcome, Move):
        present = {} if message is None else dict(message.headers)
        beside = {name: value for name, value in present.items() if name not in propagate.get_global_textmap().fields}
        headers = with_context(outcome.headers, beside)
        if headers is outcome.headers:
            return outcome
        dropped = {name: None for name in propagate.get_global_textmap().fields if name in present}
        return msgspec.structs.replace(outcome, headers={**dropped, **headers})
    if isinstance(outcome, Commit) and outcome.then:
        handed_on = [] if message is None else [message.headers, *_parts_of(message)]
        drafts = [_without_context(draft, handed_on) for draft in outcome.then]
        return msgspec.structs.replace(outcome, then=tuple(map(_draft_with_context, drafts)))
    return outcome


def _without_context(draft: Any, handed_on: Sequence[Mapping[str, Any]]) -> Any:
    """Return a draft without a context that was only copied from the headers of a message."""
    if not isinstance(draft, Draft) or not isinstance(draft.headers, Mapping):
        return draft
    fields = [
        name
        for name in propagate.get_global_textmap().fields
        if name in draft.headers and any(headers.get(name) == draft.headers[name] for headers in handed_on)
    ]
    kept = {name: value for name, value in draft.headers.items() if name not in fields}
    return msgspec.structs.replace(draft, headers=kept) if fields else draft


def _ended(span: Span, subject: Any, outcome: Any) -> Any:
    """Record how a handler ended; return its outcome, with the context in messages to other queues."""
    if isinstance(outcome, Rollback | Retry | Bury | BaseException):
        error = outcome.error if isinstance(outcome, Rollback) else outcome
        _failed(span, error)
        return outcome
    if isinstance(outcome, list | tuple):
        each = list(subject) if isinstance(subject, list | tuple) else [subject] * len(outcome)
        if len(each) == len(outcome):
            pairs = zip(outcome, each, strict=True)
            return [_nested(one, message if _is_message(message) else None) for one, message in pairs]
        return outcome
    return _sent_with_context(outcome, subject if _is_message(subject) else None)


def _nested(outcome: Any, message: Message | None) -> Any:
    """Return one outcome of a batch, which may be a list of moves."""
    if isinstance(outcome, list):
        return [_sent_with_context(one, message) for one in outcome]
    return _sent_with_context(outcome, message)


def _failed(span: Span, error: Any) -> None:
    """Record only the type of an error, because its text may quote a payload."""
    named = type(error).__name__ if isinstance(error, BaseException) else getattr(error, "type", None) or "failed"
    span.set_attribute("error.type", str(named))
    span.set_status(Status(StatusCode.ERROR, str(named)))


def _is_message(subject: Any) -> bool:
    return isinstance(subject, Message)


def _parts_of(message: Message) -> list[Mapping[str, Any]]:
    """Return the headers of the parts, if this is the message of a set."""
    parts = message.payload.get(PARTS) if isinstance(message.payload, dict) else None
    if not message.queue.endswith("/sets") or not isinstance(parts, list):
        return []
    return [part.get("headers") or {} for part in parts if isinstance(part, dict)]


def _links(messages: Sequence[Message]) -> list[Link]:
    return _links_to([message.headers for message in messages])


def _links_to(headers: Sequence[Mapping[str, Any]]) -> list[Link]:
    """Return links to the spans that headers carry, each once."""
    found: dict[int, Link] = {}
    for one in headers:
        if len(found) == MOST_LINKS:
            break
        context = context_of(one)
        if context is not None:
            linked = trace.get_current_span(context).get_span_context()
            found.setdefault(linked.span_id, Link(linked))
    return list(found.values())
