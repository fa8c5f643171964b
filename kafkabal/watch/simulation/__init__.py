"""Simulates a watch on a cluster for months: growth, noise, failures and new brokers on a clock that jumps."""
