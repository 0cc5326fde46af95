"""Support for frameworks: one module or package for each, which imports nothing from the others."""
