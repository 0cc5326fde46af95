"""The demo: real flights go through queues, a pipeline on Spark and a worker. Run it: `python -m examples.flights`.

Read the modules in this order: `flights` (the data), `stations` (the pipeline), `ledger` (the demo's own tables),
`producer`, `recorder` and `sender` (three ways to keep other data consistent with a queue), `work` (runs them all
together), `totals`, `report`.
"""
