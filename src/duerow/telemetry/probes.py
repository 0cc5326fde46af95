"""Answers probes of a worker: `/healthz`, `/readyz`, and `/metrics` if prometheus_client is installed.

Python's own HTTP server is sufficient for occasional requests, and runs in a thread without an event loop.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from typing import Any, Final

import msgspec

from duerow.errors import ConfigurationError
from duerow.worker.health import Health, health_of_all

LOG: Final = logging.getLogger("duerow.telemetry")

Answer = tuple[int, str, bytes]
"""Status, content type and content."""

JSON: Final = "application/json"


def answer(path: str, health: Health, metrics: Callable[[], tuple[bytes, str]] | None = None) -> Answer:
    """Return the answer for a path.

    `/healthz` fails if the process should be restarted, `/readyz` if it cannot work at the moment.
    """
    if path == "/metrics" and metrics is not None:
        content, kind = metrics()
        return 200, kind, content
    if path not in ("/healthz", "/readyz"):
        return 404, JSON, msgspec.json.encode({"status": "there is only /healthz, /readyz and /metrics"})
    fine = health.alive if path == "/healthz" else health.ready
    return (200 if fine else 503), JSON, msgspec.json.encode({"status": "ok" if fine else health.why})


@contextmanager
def probed(workers: Sequence[Any], place: tuple[str, int] | None) -> Iterator[int | None]:
    """Answer probes within the block; yield the port. With port 0 the system chooses one.

    Raises:
        ConfigurationError: the port cannot be used.
    """
    if place is None:
        yield None
        return
    metrics = _metrics()

    class Handler(BaseHTTPRequestHandler):
        timeout = 10

        def do_GET(self) -> None:
            health = health_of_all(worker.health for worker in workers)
            status, kind, content = answer(self.path.partition("?")[0], health, metrics)
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: Any) -> None:
            LOG.debug(format, *args)

    try:
        server = ThreadingHTTPServer(place, Handler)
    except OSError as error:
        raise ConfigurationError(
            f"probes cannot be answered at {place[0]}:{place[1]}: {error.strerror}; choose another --health-port"
        ) from error
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, name="duerow-probes", daemon=True)
    thread.start()
    port = int(server.server_address[1])
    LOG.info("answering probes at %s:%d", place[0], port, extra={"event": "probes", "port": port})
    try:
        yield port
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def prepare() -> None:
    """Start counting what this process does; call it before workers are created, so that they are counted."""
    if find_spec("prometheus_client") is not None:
        from duerow.telemetry.prometheus import process_registry

        process_registry()


def _metrics() -> Callable[[], tuple[bytes, str]] | None:
    """Return a function that makes the metrics of this process, if the library for it is installed."""
    if find_spec("prometheus_client") is None:
        return None
    from duerow.telemetry.prometheus import process_metrics

    return process_metrics()
