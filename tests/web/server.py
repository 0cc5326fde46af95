"""A window that is served on a port, as programs of other languages meet it."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn

from duerow.web import application


@contextmanager
def serving(database: Any, **options: Any) -> Iterator[str]:
    """Serve a database while a block runs; yield the address."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        window = application(database, **options)
        server = uvicorn.Server(uvicorn.Config(window, log_level="error", proxy_headers=False))
        server.install_signal_handlers = lambda: None  # type: ignore[attr-defined]
        thread = threading.Thread(target=lambda: asyncio.run(server.serve([listening])), daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join(30)
