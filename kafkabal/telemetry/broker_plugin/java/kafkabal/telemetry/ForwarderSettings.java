package kafkabal.telemetry;

import java.util.HashMap;
import java.util.Map;

/**
 * Settings of the forwarder, read from the broker's configuration.
 *
 * <ul>
 *   <li>{@code kafkabal.telemetry.topic}: topic of the payloads, {@code __kafkabal_telemetry}. A missing topic is created
 *       if the broker's {@code auto.create.topics.enable} allows it.
 *   <li>{@code kafkabal.telemetry.bootstrap.servers}: brokers to produce to; by default the broker's own listener for
 *       other brokers.
 *   <li>{@code kafkabal.telemetry.queue.bytes}: bytes queued while the topic cannot be written, 16 MiB.
 *   <li>{@code kafkabal.telemetry.producer.*}: settings of the producer, such as credentials.
 * </ul>
 */
final class ForwarderSettings {
    private static final String PREFIX = "kafkabal.telemetry.";
    private static final String PRODUCER_PREFIX = PREFIX + "producer.";
    private static final String DEFAULT_LISTENER = "PLAINTEXT";

    private final Map<String, ?> configs;

    ForwarderSettings(Map<String, ?> configs) {
        this.configs = configs;
    }

    String topic() {
        return text(PREFIX + "topic", "__kafkabal_telemetry");
    }

    String brokerId() {
        return text("node.id", text("broker.id", "-1"));
    }

    long queueBytes() {
        return Long.parseLong(text(PREFIX + "queue.bytes", String.valueOf(16L << 20)));
    }

    Map<String, Object> producer() {
        String listener = text("inter.broker.listener.name", DEFAULT_LISTENER);
        Map<String, Object> settings = new HashMap<>();
        settings.put("bootstrap.servers", text(PREFIX + "bootstrap.servers", address(listener)));
        settings.put("security.protocol", protocol(listener));
        settings.put("client.id", "kafkabal-telemetry-forwarder-" + brokerId());
        settings.put("enable.metrics.push", "false");
        settings.put("enable.idempotence", "false");
        settings.put("acks", "1");
        settings.put("linger.ms", "100");
        settings.put("max.block.ms", "5000");
        settings.put("request.timeout.ms", "5000");
        settings.put("delivery.timeout.ms", "10000");
        settings.put("buffer.memory", String.valueOf(16L << 20));
        settings.put("max.request.size", String.valueOf(2 << 20));
        configs.forEach((name, value) -> {
            if (name.startsWith(PRODUCER_PREFIX)) {
                settings.put(name.substring(PRODUCER_PREFIX.length()), value);
            }
        });
        return settings;
    }

    /** The {@code host:port} that this broker advertises for one of its listeners. */
    private String address(String listener) {
        String own = text("advertised.listeners", text("listeners", "PLAINTEXT://localhost:9092"));
        for (String entry : own.split(",")) {
            String[] parts = entry.trim().split("://", 2);
            if (parts.length == 2 && parts[0].equalsIgnoreCase(listener)) {
                return parts[1].startsWith(":") ? "localhost" + parts[1] : parts[1];
            }
        }
        throw new IllegalArgumentException("Set " + PREFIX + "bootstrap.servers: there is no listener " + listener);
    }

    private String protocol(String listener) {
        for (String entry : text("listener.security.protocol.map", "").split(",")) {
            String[] parts = entry.trim().split(":", 2);
            if (parts.length == 2 && parts[0].equalsIgnoreCase(listener)) {
                return parts[1];
            }
        }
        return text("security.inter.broker.protocol", DEFAULT_LISTENER);
    }

    private String text(String name, String otherwise) {
        Object value = configs.get(name);
        return value == null || value.toString().isEmpty() ? otherwise : value.toString().trim();
    }
}
