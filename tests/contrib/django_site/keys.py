"""The keys of the project's payloads."""

from duerow.encryption import Encryption

encryption = Encryption([Encryption.new_key()])
