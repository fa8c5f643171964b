"""What a policy would do to a cluster: workloads, brokers that take time, and what comes of it."""
