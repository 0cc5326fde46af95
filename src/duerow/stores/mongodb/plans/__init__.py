"""The plans of the store, by what they are about; `duerow.stores.mongodb.store` puts them together."""
