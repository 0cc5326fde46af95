"""Whether a function of the user's can be called as duerow will: asked when it is given, not at each message."""

from __future__ import annotations

import inspect
from typing import Final

from duerow.errors import ConfigurationError
from duerow.errors import shown as briefly

_EMPTY: Final = inspect.Parameter.empty


def check_call(what: str, function: object, *given: str) -> None:
    """Raise ConfigurationError unless a function takes such positional arguments, as far as Python can tell.

    A function that does not say what it takes, as some built-in ones, passes; so does a decorated one whose wrapper
    takes anything.

    Args:
        what: what the function is, for the error, such as "a handler of whole batches".
        function: the function.
        given: what each argument is, for the error.
    """
    try:
        # What the wrapper of a decorator takes counts, not what is inside it: it may add or leave out arguments.
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
