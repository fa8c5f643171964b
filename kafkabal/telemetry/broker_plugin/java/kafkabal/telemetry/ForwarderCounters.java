package kafkabal.telemetry;

import java.lang.management.ManagementFactory;
import java.util.concurrent.atomic.LongAdder;

import javax.management.JMException;
import javax.management.MBeanServer;
import javax.management.ObjectName;
import javax.management.StandardMBean;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Counts payloads by their fate; JMX name {@code kafkabal.telemetry:type=TelemetryForwarder,broker=ID}. */
final class ForwarderCounters implements ForwarderCountersMBean {
    private static final Logger LOG = LoggerFactory.getLogger(ForwarderCounters.class);

    final LongAdder received = new LongAdder();
    final LongAdder forwarded = new LongAdder();
    final LongAdder dropped = new LongAdder();
    final LongAdder failed = new LongAdder();

    @Override
    public long getReceived() {
        return received.sum();
    }

    @Override
    public long getForwarded() {
        return forwarded.sum();
    }

    @Override
    public long getDropped() {
        return dropped.sum();
    }

    @Override
    public long getFailed() {
        return failed.sum();
    }

    void register(String broker) {
        try {
            server().registerMBean(new StandardMBean(this, ForwarderCountersMBean.class), name(broker));
        } catch (JMException e) {
            LOG.warn("The counters of forwarded telemetry cannot be seen through JMX", e);
        }
    }

    void unregister(String broker) {
        try {
            server().unregisterMBean(name(broker));
        } catch (JMException e) {
            LOG.debug("The counters were not seen through JMX", e);
        }
    }

    private static MBeanServer server() {
        return ManagementFactory.getPlatformMBeanServer();
    }

    private static ObjectName name(String broker) throws JMException {
        return new ObjectName("kafkabal.telemetry:type=TelemetryForwarder,broker=" + broker);
    }
}
