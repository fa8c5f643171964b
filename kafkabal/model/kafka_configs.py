"""Kafka's names of the configs that kafkabal reads or sets, each defined once."""

# replication throttles (KIP-73, KIP-113): broker rates in bytes per second, and lists of topics
LEADER_RATE = "leader.replication.throttled.rate"
FOLLOWER_RATE = "follower.replication.throttled.rate"
LOG_DIR_RATE = "replica.alter.log.dirs.io.max.bytes.per.second"
LEADER_REPLICAS = "leader.replication.throttled.replicas"
FOLLOWER_REPLICAS = "follower.replication.throttled.replicas"

# brokers
CORDONED_LOG_DIRS = "cordoned.log.dirs"
"""Log dirs that accept no new replicas (KIP-1066), ``*`` for all."""

# topics
CLEANUP_POLICY = "cleanup.policy"
COMPRESSION_TYPE = "compression.type"
LOCAL_RETENTION_BYTES = "local.retention.bytes"
LOCAL_RETENTION_MS = "local.retention.ms"
MAX_MESSAGE_BYTES = "max.message.bytes"
MIN_INSYNC_REPLICAS = "min.insync.replicas"
REMOTE_STORAGE_ENABLE = "remote.storage.enable"
DISKLESS = ("diskless.enable", "inkless.enable", "redpanda.cloud_topic.enabled")
"""Configs that make a topic diskless (KIP-1150, and earlier products by other names): brokers hold none of its
bytes."""
RETENTION_BYTES = "retention.bytes"
RETENTION_MS = "retention.ms"
SEGMENT_BYTES = "segment.bytes"
SEGMENT_MS = "segment.ms"
UNCLEAN_ELECTION = "unclean.leader.election.enable"
