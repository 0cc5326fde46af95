"""Processes that were forked share queues."""

from tests.stores.processes import (  # noqa: F401 - the others look into what only the SQL stores have
    test_a_handle_opened_before_a_fork_works_on_both_sides_of_it,
    test_what_a_child_pushes_lasts_whatever_its_parent_did_at_the_fork_and_closes_after_it,
)
