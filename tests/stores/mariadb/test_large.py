"""Large batches and payloads keep no event loop waiting."""

from tests.stores.large import *  # noqa: F403 - the tests of all SQL stores
