package kafkabal.routing;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.PartitionInfo;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.AuthorizationException;
import org.apache.kafka.common.errors.InterruptException;
import org.apache.kafka.common.errors.WakeupException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The only thread that may wait for Kafka: reads published weights, and keeps reading whatever happens to the cluster. */
final class WeightsReader extends Thread {
    private static final Logger LOG = LoggerFactory.getLogger(WeightsReader.class);
    private static final Duration POLL = Duration.ofSeconds(1);
    private static final Duration ANSWER = Duration.ofSeconds(15);
    private static final Duration CLOSING = Duration.ofSeconds(1);
    private static final long PAUSE_MS = 5000;
    private static final long TICK_MS = 200;

    private final PartitionerSettings settings;
    /** How long weights are valid, before the lists that make a record long. */
    private static final Pattern VALID_MS = Pattern.compile("\"valid_ms\":(\\d{1,15})");
    private static final int HEAD_BYTES = 4096;

    /** Of topics that are followed. */
    private final Map<String, CurrentWeights> byTopic = new ConcurrentHashMap<>();
    /** Of all other topics, as read: to parse their weights takes time and memory in each producer. */
    private final Map<String, Unparsed> others = new HashMap<>();
    private final Set<String> followed = new HashSet<>();
    private final CountDownLatch caughtUp = new CountDownLatch(1);
    private final CountDownLatch stopped = new CountDownLatch(1);
    private final Supplier<Consumer<byte[], byte[]>> newConsumer;
    private volatile Consumer<byte[], byte[]> consumer;
    private final Map<String, String> refused = new HashMap<>();
    private String fault = "";
    /** Until when the weights that were read would be valid if none of them had waited. */
    private volatile long silentAtNanos = System.nanoTime();

    WeightsReader(PartitionerSettings settings) {
        this(settings, () -> new KafkaConsumer<>(settings.consumer()));
    }

    WeightsReader(PartitionerSettings settings, Supplier<Consumer<byte[], byte[]>> newConsumer) {
        super(settings.clientId() + "-kafkabal-routing");
        setDaemon(true);
        this.settings = settings;
        this.newConsumer = newConsumer;
    }

    /** Parses the weights of a topic from now on. */
    synchronized void follow(String topic) {
        if (followed.add(topic)) {
            Unparsed read = others.remove(topic);
            if (read != null) {
                parse(topic, read.value, read.ageMs());
            }
        }
    }

    /** The latest weights of a followed topic, even if they are stale; null if none are published. */
    CurrentWeights latest(String topic) {
        return byTopic.get(topic);
    }

    /** Waits until everything published so far was read, or reading failed; after the first timeout no longer. */
    void awaitFirst(long timeoutMs) {
        try {
            if (!caughtUp.await(timeoutMs, TimeUnit.MILLISECONDS)) {
                // otherwise the first record of each topic would wait while the cluster does not respond
                caughtUp.countDown();
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    void shutDown() {
        stopped.countDown();
        Consumer<byte[], byte[]> open = consumer;
        if (open != null) {
            // not interrupt(): a consumer that is interrupted while it closes logs an error with a stack trace
            open.wakeup();
        }
    }

    private boolean isRunning() {
        return stopped.getCount() > 0;
    }

    @Override
    public void run() {
        while (isRunning()) {
            try {
                if (consumer == null) {
                    consumer = newConsumer.get();
                }
                if (assign()) {
                    read();
                }
            } catch (WakeupException | InterruptException e) {
                LOG.debug("The reader of weights was stopped");
            } catch (AuthorizationException e) {
                // with the same consumer: each new one logs all its settings
                note(String.valueOf(e.getMessage()));
            } catch (RuntimeException | Error e) {
                // without this thread, records would not follow weights until the producer is restarted
                note(String.valueOf(e));
                close();
            }
            caughtUp.countDown();
            pause(PAUSE_MS);
        }
        close();
    }

    /** Whether there are partitions; they are to be read from their beginning. */
    private boolean assign() {
        List<TopicPartition> partitions = isRunning() ? partitions() : List.of();
        consumer.assign(partitions);
        consumer.seekToBeginning(partitions);
        return !partitions.isEmpty();
    }

    /** Asks the cluster only if the consumer does not know the topic, or has been told that it is gone. */
    private List<TopicPartition> partitions() {
        List<TopicPartition> partitions = new ArrayList<>();
        for (PartitionInfo each : consumer.partitionsFor(settings.topic(), ANSWER)) {
            partitions.add(new TopicPartition(each.topic(), each.partition()));
        }
        if (partitions.isEmpty()) {
            note("unknown topic: " + settings.topic());
        }
        return partitions;
    }

    /**
     * Ages records by this machine's clock from their arrival, unless they may have waited in the brokers: before the start,
     * or while this client was cut off for longer than the weights it had were valid. Those are aged by their timestamps.
     */
    private void read() {
        Map<TopicPartition, Long> ends = ends();
        boolean isBehind = true;
        while (isRunning()) {
            isBehind = isBehind && ends.entrySet().stream().anyMatch(e -> consumer.position(e.getKey()) < e.getValue());
            if (!isBehind && !fault.isEmpty()) {
                LOG.info("Weights can be read again");
                fault = "";
            }
            if (!isBehind) {
                caughtUp.countDown();
            }
            // without waiting: once the topic is deleted, a consumer that waits asks and warns 700 times a second
            ConsumerRecords<byte[], byte[]> records = poll(isBehind ? POLL : Duration.ZERO);
            if (!isBehind && records.isEmpty()) {
                if (partitions().isEmpty()) {
                    return;
                }
                pause(TICK_MS);
            } else if (!isBehind && System.nanoTime() - silentAtNanos > 0) {
                isBehind = true;
                ends = ends();
            }
            for (ConsumerRecord<byte[], byte[]> record : records) {
                take(record, isBehind ? Math.max(0, System.currentTimeMillis() - record.timestamp()) : 0);
            }
        }
    }

    private ConsumerRecords<byte[], byte[]> poll(Duration timeout) {
        try {
            return consumer.poll(timeout);
        } catch (KafkaException e) {
            // subclasses tell of permissions, versions and connections, but damage has none of its own
            if (e.getClass() != KafkaException.class) {
                throw e;
            }
            // a consumer stops at a damaged batch forever; weights are published again within seconds
            LOG.warn("Published weights cannot be read, and only those published from now on are followed: {}", reason(e));
            consumer.seekToEnd(consumer.assignment());
            return ConsumerRecords.empty();
        }
    }

    private static String reason(Throwable e) {
        return e.getCause() == null ? String.valueOf(e.getMessage()) : e.getMessage() + " (" + e.getCause().getMessage() + ")";
    }

    private Map<TopicPartition, Long> ends() {
        silentAtNanos = System.nanoTime();
        return consumer.endOffsets(consumer.assignment(), ANSWER);
    }

    private synchronized void take(ConsumerRecord<byte[], byte[]> record, long ageMs) {
        if (record.key() == null) {
            return;
        }
        String topic = new String(record.key(), StandardCharsets.UTF_8);
        if (record.value() == null) {
            byTopic.remove(topic);
            others.remove(topic);
        } else if (followed.contains(topic)) {
            parse(topic, record.value(), ageMs);
        } else {
            others.put(topic, new Unparsed(record.value(), ageMs));
            heardOf(validMs(record.value()));
        }
    }

    private static long validMs(byte[] value) {
        int bytes = Math.min(value.length, HEAD_BYTES);
        Matcher found = VALID_MS.matcher(new String(value, 0, bytes, StandardCharsets.ISO_8859_1));
        return found.find() ? Long.parseLong(found.group(1)) : 0;
    }

    private void heardOf(long validMs) {
        long validUntilNanos = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(validMs);
        silentAtNanos = validUntilNanos - silentAtNanos > 0 ? validUntilNanos : silentAtNanos;
    }

    private void parse(String topic, byte[] value, long ageMs) {
        try {
            WeightRecord weights = WeightRecord.parse(value);
            byTopic.put(topic, new CurrentWeights(weights, ageMs));
            heardOf(weights.validMs);
            refused.remove(topic);
        } catch (IllegalArgumentException e) {
            // a publisher of a later version writes such records every few seconds: each reason is logged once
            if (!String.valueOf(e.getMessage()).equals(refused.put(topic, String.valueOf(e.getMessage())))) {
                LOG.warn("Topic {}: published weights are ignored: {}", topic, e.getMessage());
            }
        }
    }

    /** Logs an error of reading once, until it is over or changes. */
    private void note(String what) {
        if (!what.equals(fault)) {
            fault = what;
            LOG.warn("Weights cannot be read, records go by the last ones for as long as those are valid: {}", what);
        }
    }

    private void close() {
        Consumer<byte[], byte[]> open = consumer;
        consumer = null;
        if (open != null) {
            try {
                open.close(CLOSING);
            } catch (RuntimeException e) {
                LOG.debug("The consumer of weights did not close", e);
            }
        }
    }

    /** A value, and how old it was when it was read. */
    private static final class Unparsed {
        private final byte[] value;
        private final long ageMs;
        private final long readNanos = System.nanoTime();

        Unparsed(byte[] value, long ageMs) {
            this.value = value;
            this.ageMs = ageMs;
        }

        long ageMs() {
            return ageMs + TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - readNanos);
        }
    }

    private void pause(long ms) {
        try {
            stopped.await(ms, TimeUnit.MILLISECONDS);
        } catch (InterruptedException e) {
            LOG.debug("The reader of weights was stopped");
        }
    }
}
