"""Text messages whose table is also the queue for sending them: `python -m examples.sms`."""
