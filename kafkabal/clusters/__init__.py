"""How to reach a cluster: one protocol, several back ends, and the only code that administers Kafka by a library."""
