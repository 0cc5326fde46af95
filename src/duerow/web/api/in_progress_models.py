"""The responses of the HTTP API about a message in progress."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from pydantic import BaseModel, Field


class ProgressOut(BaseModel):
    """The last progress that the handler of a message reported."""

    fraction: Annotated[float | None, Field(description="How much is done, from 0 to 1.")]
    text: str | None
    attempt: int
    at: datetime | None


class StackFrameOut(BaseModel):
    """A call that has not returned."""

    file: str
    line: int
    function: str


class StackOut(BaseModel):
    """Where a running handler was in its code when its worker looked, without values and source text."""

    frames: Annotated[list[StackFrameOut], Field(description="Outermost call first; at most the 200 innermost.")]
    attempt: int
    worker: str
    at: datetime
    note: Annotated[str | None, Field(description="Why there are no frames; null if there are some.")]
