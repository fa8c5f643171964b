"""The partitioner for Java clients: its source, and how it is built."""
