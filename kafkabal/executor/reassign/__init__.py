"""How partitions are brought to their target placement: batches, moves, cancellation, leader elections."""
