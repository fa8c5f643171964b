package kafkabal.telemetry;

import java.util.List;
import java.util.Map;

import org.apache.kafka.common.metrics.KafkaMetric;
import org.apache.kafka.common.metrics.MetricsReporter;
import org.apache.kafka.server.authorizer.AuthorizableRequestContext;
import org.apache.kafka.server.telemetry.ClientTelemetry;
import org.apache.kafka.server.telemetry.ClientTelemetryPayload;
import org.apache.kafka.server.telemetry.ClientTelemetryReceiver;

/**
 * Writes the metrics that clients push to this broker (KIP-714) to a topic of the cluster, unchanged.
 *
 * <p>Set {@code metric.reporters=kafkabal.telemetry.TelemetryForwarder} on every broker, with the jar on the class path.
 * All settings are optional, see {@link ForwarderSettings}; for counters see {@link ForwarderCounters}.
 *
 * <p>A request thread only puts a reference into a bounded queue. When the queue is full, the payload is dropped and
 * counted: telemetry never slows a broker down.
 */
public final class TelemetryForwarder implements MetricsReporter, ClientTelemetry, ClientTelemetryReceiver {
    private final ForwarderCounters counters = new ForwarderCounters();
    private ForwarderSettings settings;
    private PayloadQueue queue;
    private PayloadSender sender;

    @Override
    public void configure(Map<String, ?> configs) {
        settings = new ForwarderSettings(configs);
    }

    /** Called on brokers only, so a controller in the same process does not start a second sender. */
    @Override
    public synchronized ClientTelemetryReceiver clientReceiver() {
        if (sender == null) {
            queue = new PayloadQueue(settings.queueBytes());
            sender = new PayloadSender(queue, settings, counters);
            counters.register(settings.brokerId());
            sender.start();
        }
        return this;
    }

    @Override
    public void exportMetrics(AuthorizableRequestContext context, ClientTelemetryPayload payload) {
        counters.received.increment();
        Payload waiting = new Payload(
            payload.clientInstanceId(), context.clientId(), payload.isTerminating(), payload.data());
        if (!queue.offer(waiting)) {
            counters.dropped.increment();
        }
    }

    @Override
    public synchronized void close() {
        if (sender != null) {
            sender.shutDown();
            counters.unregister(settings.brokerId());
        }
    }

    @Override
    public void init(List<KafkaMetric> metrics) {
        // the broker's own metrics are not forwarded
    }

    @Override
    public void metricChange(KafkaMetric metric) {
        // the broker's own metrics are not forwarded
    }

    @Override
    public void metricRemoval(KafkaMetric metric) {
        // the broker's own metrics are not forwarded
    }
}
