"""Keeps a run safe: preflight checks, the lock of the cluster, fenced requests, retries, stopping."""
