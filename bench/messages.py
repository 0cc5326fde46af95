"""The messages that everybody carries: about 100 bytes of JSON, each with a number of its own."""

from __future__ import annotations

import json
from typing import Any

QUEUE = "bench"

STOP = {"stop": True}
"""The payload that tells a worker to stop."""

PAYLOAD_COLUMNS = "n long, to string, text string"
"""What the fields of a payload are to Spark."""


def payload(number: int) -> dict[str, Any]:
    """Return the payload of message `number`, about 100 bytes when encoded."""
    return {"n": number, "to": "+385 91 555 0123", "text": "Your flight is delayed; please come to gate 12."}


def payload_text(number: int) -> str:
    """Return the same payload as JSON text."""
    return json.dumps(payload(number))
