package kafkabal.routing;

import java.util.HashMap;
import java.util.Map;
import java.util.TreeSet;

import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.producer.ProducerConfig;

/** Prints which settings of a producer the consumer of weights does not get, and which of the producer's own it gets. */
public final class SettingsCheck {
    private static final String CONNECTING =
        "(bootstrap|client\\.dns|connections|metadata|reconnect|request|retry|sasl|security|socket|ssl)\\..*";

    public static void main(String[] arguments) {
        Map<String, Object> given = new HashMap<>();
        ProducerConfig.configNames().forEach(name -> given.put(name, "x"));
        given.put("request.timeout.ms", "30000");
        given.put("my.vault.token", "of an SSL engine factory");
        given.put("config.providers", "file");
        given.put("config.providers.file.class", "x");
        given.put("kafkabal.routing.topic", "w");
        Map<String, Object> passed = new PartitionerSettings(given).consumer();
        TreeSet<String> missing = new TreeSet<>(given.keySet());
        missing.removeAll(passed.keySet());
        TreeSet<String> connecting = new TreeSet<>(missing);
        connecting.removeIf(name -> !name.matches(CONNECTING));
        System.out.println("connecting, not passed: " + connecting);
        System.out.println("others that are not known, passed: " + passed.containsKey("my.vault.token"));
        passed.keySet().removeAll(ConsumerConfig.configNames());
        System.out.println("unknown to consumers: " + passed.keySet());
        missing.removeIf(name -> ProducerConfig.configNames().contains(name) && !name.equals("config.providers"));
        System.out.println("not of clients, not passed: " + missing);
        Runtime.getRuntime().halt(0);
    }
}
