"""A cancelled call of the awaited face loses nothing unless it was committed."""

from tests.stores.cancellation import *  # noqa: F403 - the tests of all SQL stores
