"""Reading rows as Arrow, without the store's libraries."""
