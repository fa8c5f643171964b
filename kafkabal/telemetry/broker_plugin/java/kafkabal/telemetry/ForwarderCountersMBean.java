package kafkabal.telemetry;

/** Counters since the broker started. */
public interface ForwarderCountersMBean {
    /** Payloads that clients pushed. */
    long getReceived();

    /** Payloads written to the topic. */
    long getForwarded();

    /** Payloads dropped because the queue was full. */
    long getDropped();

    /** Payloads that could not be written to the topic. */
    long getFailed();
}
