package kafkabal.routing;

/** How many bytes go to one partition before another is considered. */
final class SlotLength {
    private final int batchBytes;
    private final boolean lingers;

    SlotLength(int batchBytes, boolean lingers) {
        this.batchBytes = batchBytes;
        this.lingers = lingers;
    }

    /**
     * A client that does not linger uses slots a sixteenth shorter than a batch, so that whole records fit into a batch
     * with what the format adds. If it lingers, a batch is full only once a record does not fit: slots are two batches and
     * a record long, as in KIP-794, or every batch would wait for {@code linger.ms}.
     *
     * @param recordBytes size of the next record
     * @param publishedBytes slot length that the publisher assumes
     */
    long bytes(int recordBytes, long publishedBytes) {
        long own = lingers ? 2L * batchBytes + recordBytes : batchBytes - batchBytes / 16;
        return Math.max(own, publishedBytes);
    }

    int batchBytes() {
        return batchBytes;
    }
}
