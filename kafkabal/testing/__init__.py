"""Helpers for tests, shipped: builders, an in-memory cluster, Hypothesis strategies."""
