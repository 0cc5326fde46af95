"""An example: the modules of Python's standard library go through a pipeline on Spark, and a report describes them.

Read the modules in this order: `modules` (the data), `payloads` (the messages), `measures` (how functions are
measured), `stations` (the pipeline), `findings` (the results), `plain_loop` (the same without queues), `report`,
`command`.
"""
