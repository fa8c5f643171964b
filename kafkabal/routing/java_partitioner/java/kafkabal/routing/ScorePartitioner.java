package kafkabal.routing;

import java.util.Arrays;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

import org.apache.kafka.clients.producer.Partitioner;
import org.apache.kafka.common.Cluster;

/**
 * Sends records without keys to brokers that lack bytes to their fair share, by the weights of {@code kafkabal route
 * --publish}; records with keys go where Kafka's own partitioner sends them.
 *
 * <p>Set {@code partitioner.class=kafkabal.routing.ScorePartitioner} with the jar on the class path. All settings are
 * optional; see {@link PartitionerSettings}. Without valid weights it works like Kafka's partitioner of KIP-794.
 */
public final class ScorePartitioner implements Partitioner {
    /** Approximate overhead of a record in a batch: lengths, time, offset (KIP-98). A slot should just fill a batch. */
    private static final int RECORD_OVERHEAD_BYTES = 8;
    private static final boolean ASKS_TWICE =
        Arrays.stream(Partitioner.class.getMethods()).anyMatch(method -> method.getName().equals("onNewBatch"));

    private final Map<String, TopicRoute> routes = new ConcurrentHashMap<>();
    private final LastPicks lastPicks = new LastPicks();
    private PartitionerSettings settings;
    private WeightsReader reader;
    private SlotLength slotLength;
    private int largestBytes;
    private boolean ignoresKeys;

    @Override
    public void configure(Map<String, ?> configs) {
        PartitionerSettings given = new PartitionerSettings(configs);
        start(given, new WeightsReader(given));
    }

    void start(PartitionerSettings given, WeightsReader ofWeights) {
        settings = given;
        slotLength = new SlotLength(settings.batchBytes(), settings.lingers());
        ignoresKeys = settings.ignoresKeys();
        largestBytes = settings.largestRequestBytes();
        reader = ofWeights;
        reader.start();
    }

    @Override
    public int partition(String topic, Object key, byte[] keyBytes, Object value, byte[] valueBytes, Cluster cluster) {
        if (keyBytes != null && !ignoresKeys) {
            return KeyHash.partition(keyBytes, cluster.partitionsForTopic(topic).size());
        }
        long bytes = (long) RECORD_OVERHEAD_BYTES + size(keyBytes) + size(valueBytes);
        if (bytes > largestBytes) {
            return route(topic).pickForRefused(cluster);
        }
        int sizeBytes = (int) bytes;
        if (!ASKS_TWICE) {
            return route(topic).pick(cluster, sizeBytes);
        }
        return lastPicks.partition(topic, keyBytes, valueBytes, () -> route(topic).pick(cluster, sizeBytes));
    }

    /**
     * Called by producers before Kafka 4.0 when a record opens a batch. They then ask for its partition a second time: the
     * record is counted once, and keeps its partition. Later versions do neither.
     */
    public void onNewBatch(String topic, Cluster cluster, int previous) {
        lastPicks.expectAgain(previous);
    }

    @Override
    public void close() {
        if (reader != null) {
            reader.shutDown();
        }
    }

    private TopicRoute route(String topic) {
        TopicRoute route = routes.get(topic);
        if (route == null) {
            reader.awaitFirst(settings.firstWeightsMs());
            route = routes.computeIfAbsent(topic, name -> new TopicRoute(name, reader, slotLength));
        }
        return route;
    }

    private static int size(byte[] bytes) {
        return bytes == null ? 0 : bytes.length;
    }
}
