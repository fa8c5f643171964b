"""Notice brokers that slow down or die, log dirs that fail and imbalance that grows, and heal what is allowed."""
