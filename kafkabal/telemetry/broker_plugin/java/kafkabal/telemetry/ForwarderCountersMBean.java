package kafkabal.telemetry;

/** Counters since the broker started. */
public interface ForwarderCountersMBean {
    /** Payloads that clients pushed. */
    long getReceived();

    /** Payloads that the topic has. */
    long getForwarded();

    /** Payloads that found the queue full. */
    long getDropped();

    /** Payloads that Kafka did not take. */
    long getFailed();
}
