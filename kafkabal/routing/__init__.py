"""Where records go: policies, simulator, workloads, and the live producer."""
