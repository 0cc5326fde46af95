"""Checks whether duerow can call a user's function: when the function is passed, not at each message."""

from __future__ import annotations

import inspect
from typing import Final

from duerow.errors import ConfigurationError
from duerow.errors import shown as briefly

_EMPTY: Final = inspect.Parameter.empty


def check_call(what: str, function: object, *given: str) -> None:
    """Raise ConfigurationError unless a function takes these positional arguments, as far as Python can tell.

    A function without a signature, such as some built-in functions, passes, and so does a decorated function whose
    wrapper takes anything.

    Args:
        what: what the function is, for the error, such as "a handler of whole batches".
        function: the function.
        given: a name for each argument, for the error.
    """
    try:
        # The signature of a decorator's wrapper counts, not the wrapped function's: it may add or leave out arguments.
        signature = inspect.signature(function, follow_wrapped=False)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return
    try:
        signature.bind(*given)
    except TypeError as error:
        shown = signature.replace(return_annotation=_EMPTY)
        raise ConfigurationError(
            f"{what} is called with ({', '.join(given)}); {briefly(function, 120)} takes {shown!s:.200}: {error}"
        ) from error
