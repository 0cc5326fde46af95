"""Processes contend as promised."""

from tests.stores.contending import *  # noqa: F403 - the test of all server families
