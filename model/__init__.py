"""The protocol as models in Promela, which Spin explores in every order of events: `make model`."""
