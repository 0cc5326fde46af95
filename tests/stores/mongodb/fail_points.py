"""Have the server fail commands, as MongoDB's own tests do: by its fail point `failCommand`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pymongo
import pytest
from pymongo.errors import OperationFailure

NOT_FOUND = 59
ALWAYS = "alwaysOn"


@contextmanager
def failing(client: pymongo.MongoClient[Any], *commands: str, mode: Any = ALWAYS, **how: Any) -> Iterator[None]:
    """Let these commands of duerow's own clients fail; `how` as MongoDB documents it: errorCode, closeConnection, …"""
    data = {"failCommands": [*commands], "appName": "duerow", **how}
    try:
        client.admin.command("configureFailPoint", "failCommand", mode=mode, data=data)
    except OperationFailure as error:
        if error.code != NOT_FOUND:
            raise
        pytest.skip("the server that was given was not started with enableTestCommands=1")
    try:
        yield
    finally:
        client.admin.command("configureFailPoint", "failCommand", mode="off")
