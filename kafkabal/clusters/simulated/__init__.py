"""What stands behind the in-memory cluster: brokers, logs, a controller and replication, without any network."""
