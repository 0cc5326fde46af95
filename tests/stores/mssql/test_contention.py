"""Processes contend as promised."""

from tests.stores.contention import *  # noqa: F403 - the test of all server families
