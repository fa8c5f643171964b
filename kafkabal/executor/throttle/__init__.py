"""Replication throttles (KIP-73): chosen, set, adapted to the load, restored; and throttles left behind."""
