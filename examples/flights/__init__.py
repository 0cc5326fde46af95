"""The demo: real flights through queues, a pipeline on Spark and a worker; run by `python -m examples.flights`.

Read it in this order: `flights` (the data), `stations` (the pipeline), `ledger` (the demo's own tables), `producer`,
`recorder` and `sender` (three ways to be exact beside a queue), `work` (all at once), `totals`, `report`.
"""
