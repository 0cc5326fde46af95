"""Text messages that are sent from the table in which they are stored: `python -m examples.sms`."""
