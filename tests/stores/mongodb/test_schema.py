"""Collections are made by `migrate` and checked when a handle is opened."""

from tests.stores.schema import (  # noqa: F401 - the others look into tables; `test_servers` has their twins
    test_migrating_makes_the_tables_once_and_names_what_it_did,
    test_two_prefixes_share_a_database_and_nothing_else,
)
