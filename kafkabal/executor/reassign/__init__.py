"""Brings partitions to their target placement: batches, moves, cancellation, leader elections."""
