"""Persistent state of a run: its record, its states, the journal on this host and the record on the cluster."""
