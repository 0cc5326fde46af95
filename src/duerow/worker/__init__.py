"""What all workers do, with threads, tasks or Spark: claim ahead, keep leases, settle in batches and stop in time."""
