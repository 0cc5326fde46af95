"""A function named by the environment, which a process calls when it starts, to configure telemetry."""

from __future__ import annotations

import os
from functools import cache
from importlib import import_module
from typing import Final

from duerow.errors import ConfigurationError, shown

VARIABLE: Final = "DUEROW_TELEMETRY"
"""The environment variable that names the function, as MODULE:FUNCTION; `duerow worker` and Spark tasks call it."""


@cache
def start() -> None:
    """Call the function that the environment names, if any, once per process.

    Raises:
        ConfigurationError: there is no such function.
    """
    named = os.environ.get(VARIABLE)
    if not named:
        return
    module, _, name = named.partition(":")
    try:
        function = getattr(import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise ConfigurationError(
            f"{VARIABLE}={shown(named)} does not name a function that can be imported: write MODULE:FUNCTION ({error})"
        ) from error
    function()
