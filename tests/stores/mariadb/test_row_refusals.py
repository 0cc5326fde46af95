"""What the database refuses of one message stops no other."""

from tests.stores.row_refusals import *  # noqa: F403 - the tests of all SQL stores
