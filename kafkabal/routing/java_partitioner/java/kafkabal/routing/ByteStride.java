package kafkabal.routing;

import java.util.Arrays;
import java.util.PriorityQueue;

/**
 * Gives partitions bytes in proportion to their weights, slot by slot: exactly {@code kafkabal/routing/byte_stride.py}.
 *
 * <p>At the end of a slot its bytes are booked to its partition and to the broker that leads it. The next slot goes to the
 * broker with the least (bytes + half a slot) / weight, and of its partitions to the one with the least of the same. What a
 * partition is ahead of its weight counts under the weights that follow. All arithmetic is on IEEE doubles in the same
 * order as in Python, so that both pick the same partitions; a file of test vectors verifies that. Not thread-safe.
 */
final class ByteStride {
    private final double start;
    private long usualSlotBytes = 1;
    private double mostPart = Double.POSITIVE_INFINITY;
    private Weights awaited;
    private long totalBytes;
    private long countedRecords;
    private long countedBytes;
    private double[] weights = {1.0};
    private double[] brokerWeights = {1.0};
    private double[] booked = {0.0};
    private double[] brokerBooked = {0.0};
    private double unbookedBytes;
    private double[] turn = {0.0};
    private double halfBytes;
    private PriorityQueue<Place> brokers = new PriorityQueue<>();
    private PriorityQueue<Place>[] partitions;
    private int broker = -1;
    private int partition;
    private long slotEndBytes;
    private long leftBytes;

    /** Which of equal partitions comes first, 0 to 1: the producers of one topic start at different places. */
    ByteStride(double start) {
        this.start = start;
    }

    /** Use new weights from the next record on. Row {@code brokerOf[p]} leads partition p, -1 if none does. */
    void setWeights(double[] newWeights, int[] brokerOf) {
        awaited = new Weights(newWeights, brokerOf);
    }

    /** Use slots of about this length; one ends earlier if its broker gets ahead by half this fraction of what it got. */
    void setSlotBytes(long slotBytes, double part) {
        usualSlotBytes = slotBytes;
        mostPart = part;
    }

    /** Whether the next record begins a new slot. */
    boolean isBetweenSlots() {
        return leftBytes <= 0 || awaited != null;
    }

    /** Partition of the next record, of {@code sizeBytes} > 0. */
    int pick(int sizeBytes) {
        if (isBetweenSlots()) {
            enterSlot(sizeBytes);
        }
        countedRecords++;
        countedBytes += sizeBytes;
        leftBytes -= sizeBytes;
        return partition;
    }

    private void enterSlot(int nextBytes) {
        book();
        if (awaited != null) {
            Weights following = awaited;
            awaited = null;
            startOver(following, nextBytes);
        }
        broker = brokers.remove().index;
        partition = partitions[broker].remove().index;
        slotEndBytes = slotBytes(broker, nextBytes);
        leftBytes = slotEndBytes;
    }

    private void book() {
        if (broker < 0) {
            return;
        }
        long bytes = slotEndBytes - leftBytes;
        slotEndBytes = 0;
        leftBytes = 0;
        totalBytes += bytes;
        booked[partition] += bytes;
        brokerBooked[broker] += bytes;
        queueUp(partition, broker);
        brokers.add(new Place(brokerPlace(broker), turn[partition], broker));
        broker = -1;
    }

    private double brokerPlace(int index) {
        return (brokerBooked[index] + halfBytes) / brokerWeights[index];
    }

    private void queueUp(int index, int ofBroker) {
        partitions[ofBroker].add(new Place((booked[index] + halfBytes) / weights[index], turn[index], index));
    }

    /** What each partition got beyond its weight; 0 if the next weights do not use it. */
    private double[] aheadBytes(double[] following) {
        double[] ahead = new double[following.length];
        double all = 0;
        for (double bytes : booked) {
            all += bytes;
        }
        for (int p = 0; p < ahead.length && ahead.length == weights.length; p++) {
            ahead[p] = following[p] > 0 ? booked[p] - weights[p] * all : 0.0;
        }
        return ahead;
    }

    @SuppressWarnings("unchecked")
    private void startOver(Weights following, int nextBytes) {
        int n = following.ofPartition.length;
        int[] rows = new int[n];
        Arrays.setAll(rows, p -> Math.max(following.brokerOf[p], 0));
        int nBrokers = Arrays.stream(rows).max().orElse(0) + 1;
        double[] ahead = aheadBytes(following.ofPartition);
        weights = following.ofPartition;
        brokerWeights = new double[nBrokers];
        booked = ahead;
        brokerBooked = new double[nBrokers];
        double allAhead = 0;
        for (int p = 0; p < n; p++) {
            brokerWeights[rows[p]] += weights[p];
            brokerBooked[rows[p]] += ahead[p];
            allAhead += ahead[p];
        }
        unbookedBytes = totalBytes - allAhead;
        halfBytes = usualSlotBytes(nextBytes) / 2.0;
        turn = new double[n];
        for (int p = 0; p < n; p++) {
            double place = (double) p / n - start;
            turn[p] = place < 0 ? place + 1.0 : place;
        }
        partitions = new PriorityQueue[nBrokers];
        Arrays.setAll(partitions, b -> new PriorityQueue<>());
        double[] firstTurn = new double[nBrokers];
        Arrays.fill(firstTurn, Double.POSITIVE_INFINITY);
        for (int p = 0; p < n; p++) {
            if (weights[p] > 0) {
                queueUp(p, rows[p]);
                firstTurn[rows[p]] = Math.min(firstTurn[rows[p]], turn[p]);
            }
        }
        brokers = new PriorityQueue<>();
        for (int b = 0; b < nBrokers; b++) {
            if (!partitions[b].isEmpty()) {
                brokers.add(new Place(brokerPlace(b), firstTurn[b], b));
            }
        }
    }

    /** A slot of a broker with an even weight, from half of it behind to half of it ahead. */
    private long usualSlotBytes(int nextBytes) {
        double slot = usualSlotBytes;
        if (mostPart < Double.POSITIVE_INFINITY) {
            slot = Math.min(slot, (double) totalBytes / brokerWeights.length * mostPart);
        }
        return wholeRecords(slot, nextBytes);
    }

    /** The slot that this broker may have now: while it gets n bytes, its share of all bytes grows by weight * n. */
    private long slotBytes(int ofBroker, int nextBytes) {
        double slot = usualSlotBytes;
        double weight = brokerWeights[ofBroker];
        if (mostPart < Double.POSITIVE_INFINITY && weight < 1) {
            double ahead = brokerBooked[ofBroker] - weight * (totalBytes - unbookedBytes);
            double most = mostPart / 2 * weight * totalBytes;
            slot = Math.min(slot, (most - ahead) / (1 - weight));
        }
        return wholeRecords(slot, nextBytes);
    }

    /** Whole records of mean length: a slot of one and a quarter records would give two to every fourth slot. */
    private long wholeRecords(double slot, int nextBytes) {
        long mean = countedRecords == 0 ? 0 : countedBytes / countedRecords;
        long meanBytes = mean == 0 ? nextBytes : mean;
        // half to even, as Python rounds
        return Math.max(1, (long) Math.rint(slot / meanBytes)) * meanBytes;
    }

    private static final class Weights {
        final double[] ofPartition;
        final int[] brokerOf;

        Weights(double[] ofPartition, int[] brokerOf) {
            this.ofPartition = ofPartition;
            this.brokerOf = brokerOf;
        }
    }

    /** A broker or a partition in the queue. */
    private static final class Place implements Comparable<Place> {
        final double place;
        final double turn;
        final int index;

        Place(double place, double turn, int index) {
            this.place = place;
            this.turn = turn;
            this.index = index;
        }

        @Override
        public int compareTo(Place other) {
            int order = Double.compare(place, other.place);
            order = order != 0 ? order : Double.compare(turn, other.turn);
            return order != 0 ? order : Integer.compare(index, other.index);
        }
    }
}
