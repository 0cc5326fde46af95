"""A shop whose slow work is tasks: invoices, mails and a nightly report; see README.md."""
