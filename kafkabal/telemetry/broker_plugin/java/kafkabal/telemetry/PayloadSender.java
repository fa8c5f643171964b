package kafkabal.telemetry;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.concurrent.TimeUnit;

import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.header.Headers;
import org.apache.kafka.common.serialization.ByteBufferSerializer;
import org.apache.kafka.common.serialization.StringSerializer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The only thread that may wait for Kafka: takes payloads from the queue and produces them to the topic. */
final class PayloadSender extends Thread {
    private static final Logger LOG = LoggerFactory.getLogger(PayloadSender.class);
    private static final long POLL_MS = 1000;
    private static final Duration CLOSING = Duration.ofSeconds(2);
    private static final long BETWEEN_WARNINGS_NANOS = TimeUnit.MINUTES.toNanos(10);

    private final PayloadQueue queue;
    private final ForwarderSettings settings;
    private final ForwarderCounters counters;
    private final byte[] broker;
    private KafkaProducer<String, ByteBuffer> producer;
    private boolean hasWarned;
    private long warnedNanos;
    private volatile boolean running = true;

    PayloadSender(PayloadQueue queue, ForwarderSettings settings, ForwarderCounters counters) {
        super("kafkabal-telemetry-sender");
        setDaemon(true);
        this.queue = queue;
        this.settings = settings;
        this.counters = counters;
        this.broker = settings.brokerId().getBytes(StandardCharsets.US_ASCII);
    }

    void shutDown() {
        running = false;
        interrupt();
    }

    @Override
    public void run() {
        try {
            while (running) {
                Payload payload = queue.poll(POLL_MS);
                if (payload != null) {
                    send(payload);
                }
            }
        } catch (InterruptedException e) {
            LOG.debug("The telemetry sender was interrupted");
        } finally {
            if (producer != null) {
                // a producer that is interrupted while it closes logs an error, throws, and leaves its thread behind
                interrupted();
                producer.close(CLOSING);
            }
        }
    }

    private KafkaProducer<String, ByteBuffer> open() {
        return new KafkaProducer<>(settings.producer(), new StringSerializer(), new ByteBufferSerializer());
    }

    /** Opens the producer with the first payload, and again after a failure, such as a name that cannot be resolved yet. */
    private void send(Payload payload) {
        ProducerRecord<String, ByteBuffer> forwarded =
            new ProducerRecord<>(settings.topic(), payload.clientInstanceId.toString(), payload.data);
        Headers headers = forwarded.headers();
        headers.add("broker", broker);
        if (payload.clientId != null) {
            headers.add("client-id", payload.clientId.getBytes(StandardCharsets.UTF_8));
        }
        if (payload.terminating) {
            headers.add("terminating", new byte[0]);
        }
        try {
            producer = producer == null ? open() : producer;
            producer.send(forwarded, (metadata, error) -> {
                if (error == null) {
                    counters.forwarded.increment();
                } else {
                    fail(error);
                }
            });
        } catch (RuntimeException e) {
            fail(e);
        }
    }

    /** Counts every failure, and logs one in a while. Called by the producer's thread, too. */
    private synchronized void fail(Exception error) {
        counters.failed.increment();
        long nowNanos = System.nanoTime();
        if (running && (!hasWarned || nowNanos - warnedNanos >= BETWEEN_WARNINGS_NANOS)) {
            hasWarned = true;
            warnedNanos = nowNanos;
            LOG.warn("Telemetry of clients cannot be written to topic {}; failures of the next ten minutes are only counted",
                settings.topic(), error);
        }
    }
}
