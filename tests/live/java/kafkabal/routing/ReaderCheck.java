package kafkabal.routing;

import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Supplier;

import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.MockConsumer;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.PartitionInfo;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.TopicAuthorizationException;
import org.apache.kafka.common.header.internals.RecordHeaders;
import org.apache.kafka.common.record.TimestampType;

/** Prints what the reader of weights does when topics, permissions or connections are missing for a while. */
public final class ReaderCheck {
    private static final String TOPIC = "__kafkabal_weights";
    private static final TopicPartition PARTITION = new TopicPartition(TOPIC, 0);
    private static final long VALID_MS = 3000;

    private final MockConsumer<byte[], byte[]> consumer = new MockConsumer<>("earliest");
    private final WeightsReader reader;
    private int opened;
    private long offset;

    private ReaderCheck() {
        PartitionerSettings settings = new PartitionerSettings(Map.of("bootstrap.servers", "127.0.0.1:1"));
        reader = new WeightsReader(settings, () -> {
            opened++;
            return consumer;
        });
    }

    public static void main(String[] arguments) throws Exception {
        new ReaderCheck().run();
        Runtime.getRuntime().halt(0);
    }

    private void run() throws Exception {
        reader.start();
        reader.awaitFirst(10_000);
        createTopic();
        add("t", 0);
        await(() -> consumer.position(PARTITION) == offset);
        Thread.sleep(500);
        System.out.println("parsed for no producer: " + (reader.latest("t") != null));
        reader.follow("t");
        System.out.println("topic appears: " + reader.latest("t").areValid());
        Thread.sleep(VALID_MS + 1000);
        System.out.println("old record after silence: " + isValidOnceRead(60_000));
        System.out.println("next record: " + isValidOnceRead(60_000));
        consumer.setPollException(new TopicAuthorizationException(TOPIC));
        Thread.sleep(6000); // a pause
        System.out.println("permission returns: " + isValidOnceRead(0));
        consumer.updatePartitions(TOPIC, List.of());
        await(() -> consumer.assignment().isEmpty());
        createTopic();
        System.out.println("topic returns: " + isValidOnceRead(0));
        offset += 7; // of a damaged batch
        consumer.updateEndOffsets(Map.of(PARTITION, offset));
        consumer.setPollException(new KafkaException("Received exception when fetching the next record from w-0"));
        await(() -> consumer.position(PARTITION) == offset);
        System.out.println("damaged batch is left behind: " + isValidOnceRead(0));
        System.out.println("consumers: " + opened);
        reader.shutDown();
        reader.join(5000);
        System.out.println("ended: " + (!reader.isAlive() && consumer.closed()));
    }

    private void createTopic() {
        Node node = new Node(0, "localhost", 1);
        Node[] nodes = {node};
        consumer.updatePartitions(TOPIC, List.of(new PartitionInfo(TOPIC, 0, node, nodes, nodes)));
        consumer.updateBeginningOffsets(Map.of(PARTITION, 0L));
        consumer.updateEndOffsets(Map.of(PARTITION, 0L));
        offset = 0;
        await(() -> !consumer.assignment().isEmpty());
    }

    private boolean isValidOnceRead(long ageMs) {
        CurrentWeights before = reader.latest("t");
        add("t", ageMs);
        await(() -> reader.latest("t") != before);
        return reader.latest("t").areValid();
    }

    private void add(String topic, long ageMs) {
        String value = "{\"kafkabal_weights\":1,\"valid_ms\":" + VALID_MS
            + ",\"slot_bytes\":1,\"slot_part\":null,\"brokers\":[1],\"leaders\":[0],\"weights\":[1.0]}";
        consumer.updateEndOffsets(Map.of(PARTITION, offset + 1));
        consumer.addRecord(new ConsumerRecord<>(TOPIC, 0, offset++, System.currentTimeMillis() - ageMs,
            TimestampType.LOG_APPEND_TIME, 1, 1, bytes(topic), bytes(value), new RecordHeaders(), Optional.empty()));
    }

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    private static void await(Supplier<Boolean> condition) {
        for (int i = 0; !condition.get() && i < 1500; i++) {
            try {
                Thread.sleep(10);
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
        }
        if (!condition.get()) {
            throw new IllegalStateException("did not happen");
        }
    }
}
