"""An app that sells."""
