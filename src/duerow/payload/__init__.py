"""Payloads of messages: how they are written as JSON, typed and read back."""
