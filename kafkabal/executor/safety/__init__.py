"""What keeps a run safe: preflight checks, the lock of the cluster, fenced effects, retries, stopping."""
