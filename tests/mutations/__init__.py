"""Stores that are wrong on purpose: each must make the conformance suite fail, or the suite proves little."""
