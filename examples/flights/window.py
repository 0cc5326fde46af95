"""The dashboard for the demo's queues and pipeline, while the demo runs."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def window(url: str) -> Iterator[str]:
    """Serve the dashboard from a thread, only to this machine; yield its address.

    Raises:
        ImportError: a package that the dashboard needs is not installed.
    """
    import uvicorn

    from duerow.web import application

    with socket.create_server(("127.0.0.1", 0)) as listening:
        config = uvicorn.Config(
            application(url), log_level="error", proxy_headers=False, timeout_graceful_shutdown=1, lifespan="on"
        )
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, args=([listening],), name="duerow-demo-window", daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}/pipelines/flights"
        finally:
            server.should_exit = True
            thread.join(5)
