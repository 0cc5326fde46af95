"""Django finds this package by its location."""
