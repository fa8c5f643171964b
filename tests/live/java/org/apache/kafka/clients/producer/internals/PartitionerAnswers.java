package org.apache.kafka.clients.producer.internals;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Collections;
import java.util.HexFormat;
import java.util.List;
import java.util.Queue;

import org.apache.kafka.common.Cluster;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.PartitionInfo;
import org.apache.kafka.common.utils.LogContext;
import org.apache.kafka.common.utils.Utils;

/**
 * Answers from Kafka's own partitioner, in its package because what is asked is visible there alone. A line is a
 * question, and each question has one line as its answer:
 * <ul>
 * <li>{@code key HEX N}: the murmur2 hash of a key, and its partition among N
 * <li>{@code load Q,Q,.. P,P,.. N R,R,..}: what N partitions P with queues Q (of all partitions) give for random
 *     numbers R, and where the range of random numbers ends
 * <li>{@code sticky BATCH N S,S,.. R,R,..}: the partition of records of S bytes among N without load
 * </ul>
 */
public final class PartitionerAnswers {
    private static final String TOPIC = "t";

    public static void main(String[] arguments) throws IOException {
        BufferedReader questions = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        PrintStream answers = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        for (String line = questions.readLine(); line != null; line = questions.readLine()) {
            String[] words = line.split(" ", -1);
            answers.println(switch (words[0]) {
                case "key" -> key(HexFormat.of().parseHex(words[1]), Integer.parseInt(words[2]));
                case "load" -> load(numbers(words[1]), numbers(words[2]), Integer.parseInt(words[3]), numbers(words[4]));
                case "sticky" -> sticky(words[1], words[2], numbers(words[3]), numbers(words[4]));
                default -> throw new IllegalArgumentException(line);
            });
        }
        answers.flush();
    }

    private static String key(byte[] key, int partitions) {
        return Integer.toUnsignedString(Utils.murmur2(key)) + " " + BuiltInPartitioner.partitionForKey(key, partitions);
    }

    private static String load(int[] queues, int[] ids, int length, int[] random) {
        BuiltInPartitioner partitioner = new Drawing(1, random);
        // it works in place on arrays that are as long as the topic has partitions
        partitioner.updatePartitionLoadStats(queues.clone(), Arrays.copyOf(ids, queues.length), length);
        // without differences it keeps no table, and draws among all alike
        boolean even = length == queues.length && Arrays.stream(queues).distinct().count() == 1;
        return (even ? length : partitioner.loadStatsRangeEnd()) + " " + picks(partitioner, queues.length, ones(random.length));
    }

    private static String sticky(String batch, String partitions, int[] sizes, int[] random) {
        return picks(new Drawing(Integer.parseInt(batch), random), Integer.parseInt(partitions), sizes);
    }

    private static String picks(BuiltInPartitioner partitioner, int partitions, int[] sizes) {
        Cluster cluster = cluster(partitions);
        StringBuilder found = new StringBuilder();
        for (int size : sizes) {
            BuiltInPartitioner.StickyPartitionInfo info = partitioner.peekCurrentPartitionInfo(cluster);
            found.append(found.isEmpty() ? "" : ",").append(info.partition());
            partitioner.updatePartitionInfo(info, size, cluster);
        }
        return found.toString();
    }

    private static Cluster cluster(int partitions) {
        Node node = new Node(1, "localhost", 9092);
        Node[] nodes = {node};
        PartitionInfo[] infos = new PartitionInfo[partitions];
        Arrays.setAll(infos, i -> new PartitionInfo(TOPIC, i, node, nodes, nodes));
        return new Cluster("c", List.of(node), List.of(infos), Collections.emptySet(), Collections.emptySet());
    }

    private static int[] ones(int count) {
        int[] result = new int[count];
        Arrays.fill(result, 1);
        return result;
    }

    private static int[] numbers(String text) {
        return Arrays.stream(text.split(",")).mapToInt(Integer::parseInt).toArray();
    }

    /** Takes the numbers that it is given for random ones. */
    private static final class Drawing extends BuiltInPartitioner {
        private final Queue<Integer> random;

        Drawing(int batchSize, int[] random) {
            super(new LogContext(), TOPIC, batchSize);
            this.random = new ArrayDeque<>(Arrays.stream(random).boxed().toList());
        }

        @Override
        int randomPartition() {
            // the last record may close its batch, and the next partition is drawn at once
            return random.isEmpty() ? 0 : random.remove();
        }
    }
}
