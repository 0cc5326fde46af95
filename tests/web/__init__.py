"""The web application: attacked, fuzzed, and used by programs of other languages."""
