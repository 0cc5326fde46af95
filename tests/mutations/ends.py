"""How mutants end: the exit codes as mutmut writes them, which `mutmut.stats` names."""

KILLED = 1
SURVIVED = 0
NO_TESTS = 33
TIMEOUT = 36
CAUGHT = 37
"""It has a type error."""
