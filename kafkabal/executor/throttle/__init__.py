"""Replication throttles (KIP-73): what to set, set and restored, adapted to the load, and those left behind."""
