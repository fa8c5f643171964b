"""Play a watch on a simulated cluster for months: growth, noise, failures and new brokers on a clock that jumps."""
