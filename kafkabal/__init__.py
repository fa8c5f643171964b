"""Keeps the data of an Apache Kafka cluster evenly spread."""

__version__ = "0.1.0"
