"""Tables at both ends of a pipeline on Spark: messages become rows exactly once, and rows become messages exactly once.

Read the modules in this order: `job` (the driver makes batches), `write` (tasks write files, in folders given by
`partitions`, or chunks of rows), `delivery` (batches reach the table), `manifest`, `compaction` and `read` (tables of
Parquet files), `lakes` (Delta and Iceberg), `database` (tables in databases), `source` and `portions` (reading tables
and files). `folder` provides access to files.
"""
