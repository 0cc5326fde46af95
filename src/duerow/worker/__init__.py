"""What every worker does, threads or tasks, Spark or not: claim ahead, keep leases, settle in batches, stop in time."""
