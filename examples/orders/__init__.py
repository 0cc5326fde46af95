"""A shop whose slow work runs as tasks: invoices, emails, a report and a stock count; see README.md."""
