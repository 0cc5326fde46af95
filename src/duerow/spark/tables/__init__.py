"""Tables at both ends of a pipeline on Spark: rows of messages written once, and messages of rows read once.

Read it in this order: `job` (the driver makes batches), `write` (its tasks write files, in folders by `partitions`, or
chunks of rows), `delivery` (batches reach the table), `manifest`, `compaction` and `read` (tables of Parquet files),
`lakes` (Delta and Iceberg), `database` (tables of databases), `source` and `portions` (the way from a table). `folder`
is where files are.
"""
