"""An example: Python's own standard library goes through a pipeline on Spark, and a report says what is in it.

Read it in this order: `modules` (the data), `payloads` (what travels), `measures` (what is found out of a function),
`stations` (the pipeline), `findings` (what has come of it), `plain_loop` (the same without queues), `report`,
`command`.
"""
