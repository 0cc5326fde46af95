"""Callers' transactions and consumers meet in groups as promised."""

from tests.stores.contending import (  # noqa: F401 - the other one is for servers with SQL
    test_of_a_group_one_is_out_also_if_a_callers_transaction_does_not_see_who_goes_before,
)
