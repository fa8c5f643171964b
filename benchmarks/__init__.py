"""Measurements of speed, memory and plan quality, each run as a module: ``python -m benchmarks.planner``."""
