package kafkabal.routing;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.Map;

/** A record of {@code kafkabal route --publish}: the weights of a topic, and how long they are valid. */
final class WeightRecord {
    private static final int VERSION = 1;
    /** Limit of a record in the topic, as the publisher creates it. */
    private static final int LARGEST_BYTES = 10 << 20;
    /** Limit of partitions and brokers: more than clusters have, and a producer can allocate for each. */
    private static final int MOST = 100_000;
    private static final double CLOSE_ENOUGH = 1e-6;

    /** By partition; they sum to 1. */
    final double[] weights;
    /** Row of the broker that leads each partition, -1 if none does. */
    final int[] leaders;
    private final int brokers;
    final long slotBytes;
    /** Maximum length of a slot over what each broker got so far; infinite if unlimited. */
    final double slotPart;
    final long validMs;

    private WeightRecord(double[] weights, int[] leaders, int brokers, long slotBytes, double slotPart, long validMs) {
        this.weights = weights;
        this.leaders = leaders;
        this.brokers = brokers;
        this.slotBytes = slotBytes;
        this.slotPart = slotPart;
        this.validMs = validMs;
    }

    /**
     * Parses the value of a record.
     *
     * @throws IllegalArgumentException if it is damaged, or of a later version
     */
    static WeightRecord parse(byte[] value) {
        if (value.length > LARGEST_BYTES) {
            throw new IllegalArgumentException("a record of " + value.length + " bytes");
        }
        try {
            Map<?, ?> fields = (Map<?, ?>) JsonText.parse(new String(value, StandardCharsets.UTF_8));
            long version = whole(fields, "kafkabal_weights");
            if (version > VERSION) {
                throw new IllegalArgumentException("version " + version + " needs a later kafkabal-routing.jar");
            }
            Object part = fields.get("slot_part");
            return new WeightRecord(
                numbers(fields, "weights"),
                wholes(fields, "leaders"),
                ((List<?>) fields.get("brokers")).size(),
                whole(fields, "slot_bytes"),
                part == null ? Double.POSITIVE_INFINITY : (Double) part,
                whole(fields, "valid_ms")).checked();
        } catch (ClassCastException | NullPointerException e) {
            throw new IllegalArgumentException("a field is missing or of the wrong kind", e);
        }
    }

    private WeightRecord checked() {
        double sum = 0;
        boolean isUsable = weights.length > 0 && weights.length == leaders.length && slotBytes >= 1 && slotPart > 0
            && validMs >= 1 && Math.max(weights.length, brokers) <= MOST;
        for (int p = 0; isUsable && p < weights.length; p++) {
            isUsable = weights[p] >= 0 && leaders[p] >= -1 && leaders[p] < brokers && (weights[p] == 0 || leaders[p] >= 0);
            sum += weights[p];
        }
        if (!isUsable || !(Math.abs(sum - 1) < CLOSE_ENOUGH)) {
            throw new IllegalArgumentException("its weights, leaders or slots do not fit together");
        }
        return this;
    }

    private static long whole(Map<?, ?> fields, String name) {
        double value = (Double) fields.get(name);
        if (value != (long) value) {
            throw new IllegalArgumentException(name + " is not a whole number");
        }
        return (long) value;
    }

    private static double[] numbers(Map<?, ?> fields, String name) {
        return ((List<?>) fields.get(name)).stream().mapToDouble(each -> (Double) each).toArray();
    }

    private static int[] wholes(Map<?, ?> fields, String name) {
        double[] found = numbers(fields, name);
        for (double each : found) {
            if (each != (int) each) {
                throw new IllegalArgumentException(name + " are not whole numbers");
            }
        }
        return Arrays.stream(found).mapToInt(each -> (int) each).toArray();
    }
}
