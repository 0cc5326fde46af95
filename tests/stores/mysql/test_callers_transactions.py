"""A caller's transaction is joined or refused as promised."""

from tests.stores.callers_transactions import *  # noqa: F403 - the tests of all SQL stores
