"""Samples over time: rates, client telemetry, Prometheus, history."""
