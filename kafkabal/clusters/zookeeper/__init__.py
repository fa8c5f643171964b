"""A cluster of Kafka <= 3.9 found through its ZooKeeper: the brokers' own API where it can do it, znodes where not."""
