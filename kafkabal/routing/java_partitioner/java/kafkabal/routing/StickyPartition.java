package kafkabal.routing;

import java.util.List;
import java.util.concurrent.ThreadLocalRandom;

import org.apache.kafka.common.Cluster;
import org.apache.kafka.common.PartitionInfo;
import org.apache.kafka.common.TopicPartition;

/** Used without weights: a random partition with a leader for each batch (KIP-794). Not thread-safe. */
final class StickyPartition {
    private final String topic;
    private final int batchBytes;
    private int partition = -1;
    private long leftBytes;
    private Cluster seen;

    StickyPartition(String topic, int batchBytes) {
        this.topic = topic;
        this.batchBytes = batchBytes;
    }

    int pick(Cluster cluster, int sizeBytes) {
        if (leftBytes <= 0 || cluster != seen && !hasLeader(cluster, topic, partition)) {
            partition = random(cluster);
            leftBytes = batchBytes;
        }
        seen = cluster;
        leftBytes -= sizeBytes;
        return partition;
    }

    static boolean hasLeader(Cluster cluster, String topic, int partition) {
        PartitionInfo info = cluster.partition(new TopicPartition(topic, partition));
        return info != null && info.leader() != null;
    }

    private int random(Cluster cluster) {
        List<PartitionInfo> available = cluster.availablePartitionsForTopic(topic);
        List<PartitionInfo> from = available.isEmpty() ? cluster.partitionsForTopic(topic) : available;
        return from.get(ThreadLocalRandom.current().nextInt(from.size())).partition();
    }
}
