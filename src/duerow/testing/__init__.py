"""What tests of queues need: a clock to move, faults to inject, and the conformance suite for stores.

Needs pytest and Hypothesis, which nothing else in duerow imports.
"""
