"""Reading rows as Arrow, without the libraries of the store."""
