package kafkabal.routing;

import java.util.concurrent.TimeUnit;

/** Weights as read, and how long they are valid. */
final class CurrentWeights {
    final WeightRecord record;
    private final long validUntilNanos;

    /** {@code ageMs}: their age when they were read. */
    CurrentWeights(WeightRecord record, long ageMs) {
        this.record = record;
        this.validUntilNanos = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(record.validMs - ageMs);
    }

    boolean areValid() {
        return System.nanoTime() - validUntilNanos < 0;
    }
}
