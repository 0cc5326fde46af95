"""Tests of the copies of queues between databases."""
