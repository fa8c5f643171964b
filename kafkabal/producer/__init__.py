"""Records routed for real: a producer that asks a policy for every record, and sources to take records from."""
