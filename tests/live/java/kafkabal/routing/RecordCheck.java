package kafkabal.routing;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Set;

import org.apache.kafka.common.Cluster;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.PartitionInfo;

/** Prints for each file whether a producer can use its record, and for how many topics the first record waited. */
public final class RecordCheck {
    private static final int TOPICS = 3;
    private static final long WAIT_MS = 500;

    public static void main(String[] arguments) throws IOException {
        for (String path : arguments) {
            System.out.println(outcome(Files.readAllBytes(Path.of(path))));
        }
        System.out.println(topicsThatWaited());
        Runtime.getRuntime().halt(0);
    }

    private static String outcome(byte[] value) {
        try {
            WeightRecord record = WeightRecord.parse(value);
            ByteStride stride = new ByteStride(0);
            stride.setWeights(record.weights, record.leaders);
            stride.pick(100);
            return "used";
        } catch (IllegalArgumentException e) {
            return "refused";
        } catch (RuntimeException | Error e) {
            return e.toString();
        }
    }

    private static int topicsThatWaited() {
        ScorePartitioner partitioner = new ScorePartitioner();
        partitioner.configure(Map.of(
            "bootstrap.servers", "127.0.0.1:1", "client.id", "c", "kafkabal.routing.first.weights.ms", WAIT_MS));
        int waited = 0;
        for (int i = 0; i < TOPICS; i++) {
            long startNanos = System.nanoTime();
            partitioner.partition("t" + i, null, null, null, new byte[1], cluster("t" + i));
            waited += System.nanoTime() - startNanos >= WAIT_MS * 900_000 ? 1 : 0;
        }
        return waited;
    }

    private static Cluster cluster(String topic) {
        Node node = new Node(0, "localhost", 1);
        Node[] nodes = {node};
        return new Cluster("c", List.of(node), List.of(new PartitionInfo(topic, 0, node, nodes, nodes)), Set.of(), Set.of());
    }
}
