package kafkabal.routing;

/** How many bytes go to one partition before the next is considered. */
final class SlotLength {
    private final int batchBytes;
    private final boolean lingers;

    SlotLength(int batchBytes, boolean lingers) {
        this.batchBytes = batchBytes;
        this.lingers = lingers;
    }

    /**
     * A client that sends what it has takes slots a sixteenth shorter than a batch: whole records of it fit into a batch with
     * what the format adds. In one that lingers, a batch is full only once a record does not fit: it takes two batches and
     * a record, as KIP-794 does, or every batch would wait for {@code linger.ms}.
     *
     * @param recordBytes of the next record
     * @param publishedBytes what the publisher counts on
     */
    long bytes(int recordBytes, long publishedBytes) {
        long own = lingers ? 2L * batchBytes + recordBytes : batchBytes - batchBytes / 16;
        return Math.max(own, publishedBytes);
    }

    int batchBytes() {
        return batchBytes;
    }
}
