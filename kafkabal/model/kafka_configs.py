"""Kafka's own names of the configs that kafkabal reads or sets, each written once."""

# replication throttles (KIP-73, KIP-113): rates of brokers in bytes a second, and lists of topics
LEADER_RATE = "leader.replication.throttled.rate"
FOLLOWER_RATE = "follower.replication.throttled.rate"
LOG_DIR_RATE = "replica.alter.log.dirs.io.max.bytes.per.second"
LEADER_REPLICAS = "leader.replication.throttled.replicas"
FOLLOWER_REPLICAS = "follower.replication.throttled.replicas"

# brokers
CORDONED_LOG_DIRS = "cordoned.log.dirs"
"""Log dirs that take no new replicas (KIP-1066), ``*`` for all."""

# topics
CLEANUP_POLICY = "cleanup.policy"
COMPRESSION_TYPE = "compression.type"
LOCAL_RETENTION_BYTES = "local.retention.bytes"
LOCAL_RETENTION_MS = "local.retention.ms"
MAX_MESSAGE_BYTES = "max.message.bytes"
MIN_INSYNC_REPLICAS = "min.insync.replicas"
REMOTE_STORAGE_ENABLE = "remote.storage.enable"
DISKLESS = ("diskless.enable", "inkless.enable", "redpanda.cloud_topic.enabled")
"""What makes a topic diskless (KIP-1150, and by other names in products before it): brokers hold none of its bytes."""
RETENTION_BYTES = "retention.bytes"
RETENTION_MS = "retention.ms"
SEGMENT_BYTES = "segment.bytes"
SEGMENT_MS = "segment.ms"
UNCLEAN_ELECTION = "unclean.leader.election.enable"
