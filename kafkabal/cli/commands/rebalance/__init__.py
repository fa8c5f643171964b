"""``kafkabal rebalance`` and its commands."""
