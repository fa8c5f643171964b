package kafkabal.routing;

import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.Set;

import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.MockConsumer;
import org.apache.kafka.common.Cluster;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.PartitionInfo;
import org.apache.kafka.common.TopicPartition;

/** Prints how many of a hundred records each of two partitions gets after a record that the producer refuses. */
public final class RefusedRecordCheck {
    private static final String WEIGHTS_TOPIC = "__kafkabal_weights";
    private static final TopicPartition WEIGHTS = new TopicPartition(WEIGHTS_TOPIC, 0);
    private static final String RECORD = "{\"kafkabal_weights\":1,\"valid_ms\":9000000000000,\"slot_bytes\":1,\"slot_part\":null,"
        + "\"brokers\":[0,1],\"leaders\":[0,1],\"weights\":[0.5,0.5]}";

    public static void main(String[] arguments) throws Exception {
        ScorePartitioner partitioner = new ScorePartitioner();
        PartitionerSettings settings = new PartitionerSettings(
            Map.of("bootstrap.servers", "127.0.0.1:1", "kafkabal.routing.first.weights.ms", 10_000));
        partitioner.start(settings, new WeightsReader(settings, RefusedRecordCheck::consumer));
        int[] got = new int[2];
        partitioner.partition("t", null, null, null, new byte[4 << 20], cluster());
        for (int i = 0; i < 100; i++) {
            got[partitioner.partition("t", null, null, null, new byte[15_000], cluster())]++;
        }
        System.out.println(got[0] + " " + got[1]);
        Runtime.getRuntime().halt(0);
    }

    private static MockConsumer<byte[], byte[]> consumer() {
        MockConsumer<byte[], byte[]> consumer = new MockConsumer<>("earliest");
        Node[] nodes = {new Node(0, "localhost", 1)};
        consumer.updatePartitions(WEIGHTS_TOPIC, List.of(new PartitionInfo(WEIGHTS_TOPIC, 0, nodes[0], nodes, nodes)));
        consumer.updateBeginningOffsets(Map.of(WEIGHTS, 0L));
        consumer.updateEndOffsets(Map.of(WEIGHTS, 1L));
        consumer.schedulePollTask(() -> consumer.addRecord(
            new ConsumerRecord<>(WEIGHTS_TOPIC, 0, 0, bytes("t"), bytes(RECORD))));
        return consumer;
    }

    private static Cluster cluster() {
        Node[] nodes = {new Node(0, "localhost", 1), new Node(1, "localhost", 2)};
        List<PartitionInfo> partitions = List.of(
            new PartitionInfo("t", 0, nodes[0], nodes, nodes), new PartitionInfo("t", 1, nodes[1], nodes, nodes));
        return new Cluster("c", List.of(nodes), partitions, Set.of(), Set.of());
    }

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }
}
