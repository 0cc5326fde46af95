"""Rows as Arrow, without the store's libraries."""
