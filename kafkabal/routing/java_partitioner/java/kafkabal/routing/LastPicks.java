package kafkabal.routing;

import java.util.function.IntSupplier;

/**
 * Recognises the record that a client before Kafka 4.0 asks about a second time: the one that opens a batch.
 *
 * <p>A thread keeps its last value after the producer is closed. So it is made of numbers only: a class of ours would keep
 * the class loader of a Flink job or a web application alive, and a record would keep its bytes.
 */
final class LastPicks {
    private static final int RECORD = 0;
    private static final int PARTITION = 1;
    private static final int IS_EXPECTED_AGAIN = 2;

    private final ThreadLocal<int[]> ofThread = ThreadLocal.withInitial(() -> new int[IS_EXPECTED_AGAIN + 1]);

    /** The partition of the record if this thread asks about it again; else the one that is picked now. */
    int partition(String topic, byte[] keyBytes, byte[] valueBytes, IntSupplier pick) {
        int[] last = ofThread.get();
        int record = 31 * (31 * topic.hashCode() + System.identityHashCode(keyBytes)) + System.identityHashCode(valueBytes);
        boolean isRepeated = last[IS_EXPECTED_AGAIN] != 0 && last[RECORD] == record;
        last[IS_EXPECTED_AGAIN] = 0;
        if (!isRepeated) {
            last[RECORD] = record;
            last[PARTITION] = pick.getAsInt();
        }
        return last[PARTITION];
    }

    void expectAgain(int previous) {
        int[] last = ofThread.get();
        last[IS_EXPECTED_AGAIN] = previous == last[PARTITION] ? 1 : 0;
    }
}
