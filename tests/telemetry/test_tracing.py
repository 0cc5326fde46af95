"""Traces lead from a push to the handlers of all that comes of it."""

from __future__ import annotations

import subprocess
import sys
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.trace import SpanKind, StatusCode

import duerow
import duerow.aio
from duerow import Draft, Join, Move, Pipeline, Relay, Retry, Sink, Split
from duerow.sync.queue import Queue
from duerow.telemetry import hooks
from duerow.telemetry.tracing import trace_queues
from duerow.worker.rounds import FrameRound, entered
from tests.telemetry.conftest import Spans


def is_child(child: ReadableSpan, parent: ReadableSpan) -> bool:
    return (
        child.parent is not None
        and child.parent.span_id == parent.context.span_id
        and child.context.trace_id == parent.context.trace_id
    )


def linked(span: ReadableSpan) -> set[int]:
    return {link.context.span_id for link in span.links}


def work(queue: Any, handler: Any, **options: Any) -> None:
    duerow.Worker(queue, handler, **options).run("idle")


def test_a_handler_runs_in_a_span_that_is_a_child_of_the_push(database: duerow.Database, spans: Spans):
    mail = database.queue("mail")
    pushed = mail.push("hello", headers={"tenant": "a"})
    seen: list[Any] = []
    work(mail, lambda message: seen.append((message.headers["tenant"], trace.get_current_span().get_span_context())))
    push, process = spans.one("push mail"), spans.one("process mail")
    assert (push.kind, process.kind) == (SpanKind.PRODUCER, SpanKind.CONSUMER)
    assert is_child(process, push)
    assert process.attributes is not None
    assert process.attributes["messaging.message.id"] == str(pushed.id)
    assert process.attributes["messaging.system"] == "duerow"
    assert seen == [("a", process.context)]
    for name in ("reserve mail", "settle mail"):
        assert linked(spans.one(name)) == {push.context.span_id}


async def test_the_awaited_face_is_traced_likewise(url: str, spans: Spans):
    async with await duerow.aio.connect(url, migrate=True) as awaited:
        mail = awaited.queue("mail")
        await mail.push("hello")
        seen: list[Any] = []

        async def handle(message: duerow.Message) -> None:
            seen.append(trace.get_current_span().get_span_context())

        await duerow.aio.Worker(mail, handle).run("idle")
    process = spans.one("process mail")
    assert is_child(process, spans.one("push mail"))
    assert seen == [process.context]


def test_a_push_belongs_to_the_trace_of_the_program(database: duerow.Database, spans: Spans, provider):
    with provider.get_tracer("shop").start_as_current_span("request"):
        database.queue("mail").push("hello")
    assert is_child(spans.one("push mail"), spans.one("request"))


def test_a_moved_message_goes_on_with_the_trace(database: duerow.Database, spans: Spans):
    first, second = database.queue("first"), database.queue("second")
    first.push("hello")
    work(first, lambda message: Move("second"))
    work(second, lambda message: None)
    assert is_child(spans.one("process second"), spans.one("process first"))


def test_messages_pushed_by_a_settlement_go_on_with_the_trace(database: duerow.Database, spans: Spans):
    first, second = database.queue("first"), database.queue("second")
    first.push("hello")
    work(first, lambda message: duerow.Commit(then=(Draft(1, queue="second"), Draft(2, queue="second"))))
    work(second, lambda message: None)
    process = spans.one("process first")
    assert [is_child(one, process) for one in spans.all("process second")] == [True, True]


def test_a_trace_goes_on_in_another_database(database: duerow.Database, spans: Spans, tmp_path):
    with duerow.connect(f"sqlite:///{tmp_path / 'other.db'}", migrate=True) as other:
        mail, post = database.queue("mail"), other.queue("post")
        mail.push("hello")
        work(mail, lambda message: post.push(message.payload))
        work(post, lambda message: None)
    assert is_child(spans.one("push post"), spans.one("process mail"))
    assert is_child(spans.one("process post"), spans.one("push post"))


def test_each_attempt_has_a_span_and_a_failed_one_says_so_without_quoting(database: duerow.Database, spans: Spans):
    mail = database.queue("mail", retry=duerow.fixed(timedelta(0)))
    mail.push("hello")
    outcomes = [ValueError("secret"), None]

    def handle(message: duerow.Message) -> None:
        if error := outcomes.pop(0):
            raise error

    work(mail, handle)
    failed, done = spans.all("process mail")
    assert (failed.status.status_code, done.status.status_code) == (StatusCode.ERROR, StatusCode.UNSET)
    assert failed.attributes is not None
    assert failed.attributes["error.type"] == "ValueError"
    assert "secret" not in failed.to_json()
    assert is_child(failed, spans.one("push mail"))
    assert is_child(done, spans.one("push mail"))


def test_a_dead_letter_keeps_the_context_of_its_push(database: duerow.Database, spans: Spans):
    mail, dead = database.queue("mail", dead_letter="dead"), database.queue("dead")
    mail.push("hello")
    work(mail, lambda message: duerow.Bury("broken"))
    work(dead, lambda message: None)
    assert is_child(spans.one("process dead"), spans.one("push mail"))


def test_a_batch_is_linked_to_the_pushes_of_its_messages(database: duerow.Database, spans: Spans):
    mail = database.queue("mail")
    mail.push(1)
    mail.push_many([Draft(2), Draft(3)])
    work(mail, lambda messages: None, whole_batch=True)
    process = spans.one("process mail")
    pushes = {spans.one("push mail").context.span_id} if len(spans.all("push mail")) == 1 else set()
    pushes |= {span.context.span_id for span in spans.all("push mail")}
    assert linked(process) == pushes
    assert process.parent is None


PIPELINE = Pipeline(
    "orders",
    [
        Split("orders", lambda message: iter(message.payload), to="lines"),
        Relay("lines", lambda message: message.payload * 2, to="whole"),
        Join("whole", lambda messages: sum(one.payload for one in messages), to="sums", by="headers.parent", count=3),
        Sink("sums", lambda message: None),
    ],
)


def test_a_trace_leads_through_the_stations_of_a_pipeline_with_links_where_parts_join(
    database: duerow.Database, spans: Spans
):
    database.queue("orders").push([1, 2, 3])
    PIPELINE.run(database, until="idle")
    push, split = spans.one("push orders"), spans.one("process orders")
    lines, parts = spans.all("process lines"), spans.all("process whole")
    merged, last = spans.one("process whole/sets"), spans.one("process sums")
    assert is_child(split, push)
    assert [is_child(line, split) for line in lines] == [True] * 3
    assert {part.parent.span_id for part in parts if part.parent} == {line.context.span_id for line in lines}
    assert linked(merged) == {line.context.span_id for line in lines}
    assert is_child(last, merged)
    assert len({span.context.trace_id for span in (push, split, *lines, *parts, merged, last)}) == 1


def test_what_a_person_settles_by_hand_is_traced(database: duerow.Database, spans: Spans):
    mail = database.queue("mail")
    mail.push("hello")
    reservation = mail.reserve()
    assert reservation is not None
    reservation.commit()
    assert linked(spans.one("settle mail")) == {spans.one("push mail").context.span_id}


def test_a_context_that_was_given_by_hand_stays(database: duerow.Database, spans: Spans):
    given = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    database.queue("mail").push("hello", headers={"traceparent": given})
    message = database.queue("mail").pop()
    assert message is not None
    assert message.headers["traceparent"] == given


def test_headers_without_room_for_the_context_are_pushed_without_it(database: duerow.Database, spans: Spans):
    mail = database.queue("mail")
    large = {"text": "x" * (65_536 - 20)}
    mail.push("hello", headers=large)
    message = mail.pop()
    assert message is not None
    assert message.headers == large


def test_wrong_headers_are_refused_as_without_tracing(database: duerow.Database, spans: Spans):
    with pytest.raises(duerow.DuerowError):
        database.queue("mail").push("hello", headers=5)  # type: ignore[arg-type]
    with pytest.raises(duerow.DuerowError):
        database.queue("mail").push_many("text")  # type: ignore[arg-type]
    assert {span.status.status_code for span in [*spans.all("push mail")]} == {StatusCode.ERROR}


def test_an_idle_worker_makes_no_spans(database: duerow.Database, spans: Spans):
    work(database.queue("mail"), lambda message: None)
    assert spans.names() == []


def test_the_permit_of_a_singleton_is_not_traced(database: duerow.Database, spans: Spans):
    database.queue("mail").push("hello")
    duerow.Worker(database.queue("mail"), lambda message: None, singleton=True).run("idle")
    assert [name for name in spans.names() if "mail" not in name.split()] == []


UNTRACED = """
import sys, duerow
from duerow.worker import middleware
with duerow.connect("memory://", migrate=True) as database:
    database.queue("mail").push("hello")
    assert database.queue("mail").pop().headers == {}
assert middleware.EVERYWHERE == []
assert not [name for name in sys.modules if name.startswith(("opentelemetry", "prometheus_client", "duerow.telemetry"))]
"""


def test_without_tracing_nothing_of_it_is_even_imported():
    subprocess.run([sys.executable, "-c", UNTRACED], check=True)


def test_methods_are_the_original_ones_again_once_nothing_watches_them(provider):
    before = Queue.push
    end = trace_queues(provider)
    assert Queue.push is not before
    end()
    assert Queue.push is before or Queue.push.__wrapped__ is hooks._ORIGINALS[Queue, "push"]


def test_a_retry_that_a_handler_asks_for_is_no_success(database: duerow.Database, spans: Spans):
    mail = database.queue("mail")
    mail.push("hello")
    work(mail, lambda message: Retry(timedelta(minutes=1)))
    assert spans.one("process mail").status.status_code is StatusCode.ERROR


def test_the_numbers_that_a_frame_station_observes_are_attributes_and_its_text_is_not(
    spans: Spans,
) -> None:
    with entered(FrameRound("sold", 3)) as one:
        one.observed = {"total": Decimal("10.5"), "first": "split"}
    told = spans.one("process sold").attributes or {}
    assert told["duerow.observed.total"] == 10.5
    assert "duerow.observed.first" not in told
