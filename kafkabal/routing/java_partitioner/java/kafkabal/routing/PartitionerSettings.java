package kafkabal.routing;

import java.util.HashMap;
import java.util.Map;
import java.util.Set;

import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.producer.ProducerConfig;

/**
 * Settings of the partitioner, read from the producer's configuration.
 *
 * <ul>
 *   <li>{@code kafkabal.routing.topic}: topic of the weights, {@code __kafkabal_weights}.
 *   <li>{@code kafkabal.routing.first.weights.ms}: how long the first record of a producer waits for weights, 1000.
 *   <li>{@code kafkabal.routing.consumer.*}: settings of the consumer that reads them; by default it connects as the
 *       producer does.
 *   <li>{@code partitioner.ignore.keys}, {@code batch.size}, {@code linger.ms} and {@code max.request.size} mean what
 *       they mean to Kafka's own partitioner and producer.
 * </ul>
 */
final class PartitionerSettings {
    private static final String PREFIX = "kafkabal.routing.";
    private static final String CONSUMER_PREFIX = PREFIX + "consumer.";
    /** Of config providers: the producer has put their values in, and they might be looked up a second time. */
    private static final String RESOLVED_PREFIX = "config.providers";
    private static final String BYTES = "org.apache.kafka.common.serialization.ByteArrayDeserializer";
    /** Settings that consumers also have, but that apply to the producer only. */
    private static final Set<String> NOT_SHARED =
        Set.of("client.id", "interceptor.classes", "metric.reporters", "group.id", "group.instance.id");

    private final Map<String, ?> configs;

    PartitionerSettings(Map<String, ?> configs) {
        this.configs = configs;
    }

    String topic() {
        return text(PREFIX + "topic", "__kafkabal_weights");
    }

    long firstWeightsMs() {
        return whole(PREFIX + "first.weights.ms", 1000);
    }

    int batchBytes() {
        return (int) Math.max(1, whole("batch.size", 16384));
    }

    /** A producer refuses records that are larger. */
    int largestRequestBytes() {
        return (int) whole("max.request.size", 1_048_576);
    }

    /** Whether a batch that is not full waits for more records. */
    boolean lingers() {
        Object usual = ProducerConfig.configDef().defaultValues().get("linger.ms");
        return whole("linger.ms", ((Number) usual).longValue()) > 0;
    }

    boolean ignoresKeys() {
        return Boolean.parseBoolean(text("partitioner.ignore.keys", "false"));
    }

    String clientId() {
        return text("client.id", "producer");
    }

    Map<String, Object> consumer() {
        Map<String, Object> settings = new HashMap<>();
        Set<String> known = ConsumerConfig.configNames();
        configs.forEach((name, value) -> {
            if (isShared(name, known)) {
                settings.put(name, value);
            }
        });
        settings.put("client.id", clientId() + "-kafkabal-routing");
        settings.put("key.deserializer", BYTES);
        settings.put("value.deserializer", BYTES);
        settings.put("enable.auto.commit", "false");
        settings.put("allow.auto.create.topics", "false");
        settings.put("auto.offset.reset", "earliest");
        settings.put("isolation.level", "read_uncommitted");
        // while nothing is published, each of a thousand producers asks every five seconds; responses must come in time
        settings.put("fetch.max.wait.ms", String.valueOf(Math.min(5000, whole("request.timeout.ms", 30_000) / 2)));
        if (known.contains("enable.metrics.push")) {
            settings.put("enable.metrics.push", "false");
        }
        configs.forEach((name, value) -> {
            if (name.startsWith(CONSUMER_PREFIX)) {
                settings.put(name.substring(CONSUMER_PREFIX.length()), value);
            }
        });
        return settings;
    }

    /** Also settings that no client knows: an SSL engine factory or a callback handler of SASL may read them. */
    private static boolean isShared(String name, Set<String> ofConsumers) {
        return (ofConsumers.contains(name) || !ProducerConfig.configNames().contains(name))
            && !NOT_SHARED.contains(name) && !name.startsWith(PREFIX) && !name.startsWith(RESOLVED_PREFIX);
    }

    private long whole(String name, long otherwise) {
        String value = text(name, String.valueOf(otherwise));
        try {
            return Long.parseLong(value);
        } catch (NumberFormatException e) {
            throw new IllegalArgumentException(name + " is not a whole number: " + value, e);
        }
    }

    private String text(String name, String otherwise) {
        Object value = configs.get(name);
        return value == null || value.toString().isEmpty() ? otherwise : value.toString().trim();
    }
}
