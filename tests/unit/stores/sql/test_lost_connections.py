"""What a driver says of a connection that is no longer usable means that the store is away."""

import psycopg
import psycopg.errors
import pytest

from duerow.errors import StoreRefused, StoreUnavailable
from duerow.stores.sql.dialects.postgresql.dialect import PostgreSQL
from duerow.stores.sql.errors import explained


def test_answers_that_make_no_sense_are_a_lost_connection_whose_outcome_is_unknown():
    # As behind a pooler whose server connection ends during the command: it adds an error of its own.
    confused = psycopg.InternalError("received 2 results from command 'COMMIT'")
    error = explained(PostgreSQL(), confused, unsure=True)
    assert isinstance(error, StoreUnavailable)
    assert error.outcome == "unknown"


@pytest.mark.parametrize("kind", [psycopg.errors.InternalError_, psycopg.ProgrammingError])
def test_what_the_server_or_the_driver_refuses_is_no_lost_connection(kind: type[psycopg.Error]):
    assert isinstance(explained(PostgreSQL(), kind("corrupt index")), StoreRefused)
