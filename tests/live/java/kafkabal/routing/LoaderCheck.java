package kafkabal.routing;

import java.lang.ref.WeakReference;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Set;

import org.apache.kafka.clients.producer.Partitioner;
import org.apache.kafka.common.Cluster;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.PartitionInfo;

/** Prints whether the classes of a jar are unloaded after its partitioner was used by a thread that goes on. */
public final class LoaderCheck {
    private static final int LONGEST_S = 20;

    public static void main(String[] arguments) throws Exception {
        WeakReference<ClassLoader> loader = useOnce(Path.of(arguments[0]));
        for (int i = 0; loader.get() != null && i < 10 * LONGEST_S; i++) {
            System.gc();
            Thread.sleep(100);
        }
        System.out.println(loader.get() == null ? "unloaded" : "kept");
        Runtime.getRuntime().halt(0);
    }

    private static WeakReference<ClassLoader> useOnce(Path jar) throws Exception {
        try (URLClassLoader loader = new URLClassLoader(new URL[] {jar.toUri().toURL()})) {
            Partitioner partitioner = (Partitioner) loader.loadClass("kafkabal.routing.ScorePartitioner")
                .getDeclaredConstructor().newInstance();
            partitioner.configure(Map.of("bootstrap.servers", "127.0.0.1:1", "kafkabal.routing.first.weights.ms", 1));
            Node node = new Node(0, "localhost", 1);
            Node[] nodes = {node};
            List<PartitionInfo> partitions = List.of(new PartitionInfo("t", 0, node, nodes, nodes));
            partitioner.partition("t", null, null, null, new byte[1], new Cluster("c", List.of(node), partitions, Set.of(), Set.of()));
            partitioner.close();
            Thread.sleep(2000); // its reader ends
            return new WeakReference<>(loader);
        }
    }
}
