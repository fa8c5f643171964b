"""What to change: moves, the plan file, Kafka's own JSON, and the check against drift."""
