"""What a process of Spark calls before its first task: spans go to a file that all of them append to."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence

from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExporter, SpanExportResult

from duerow.telemetry.tracing import trace_queues

FILE = "DUEROW_TEST_SPANS"


class ToFile(SpanExporter):
    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        with open(os.environ[FILE], "a") as file:
            for span in spans:
                parent = span.parent.span_id if span.parent else None
                told = {"name": span.name, "trace": span.context.trace_id, "id": span.context.span_id, "of": parent}
                file.write(json.dumps({**told, "pid": os.getpid()}) + "\n")
        return SpanExportResult.SUCCESS


def configure() -> None:
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(ToFile()))
    trace_queues(provider)
