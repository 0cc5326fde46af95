"""The plans of the store, by subject; `duerow.stores.mongodb.store` combines them."""
