package kafkabal.telemetry;

import java.lang.management.ManagementFactory;
import java.net.InetAddress;
import java.nio.ByteBuffer;
import java.util.Map;
import java.util.concurrent.atomic.AtomicBoolean;

import javax.management.MBeanServer;
import javax.management.ObjectName;

import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.security.auth.KafkaPrincipal;
import org.apache.kafka.common.security.auth.SecurityProtocol;
import org.apache.kafka.server.authorizer.AuthorizableRequestContext;
import org.apache.kafka.server.telemetry.ClientTelemetryPayload;

/** Pushes far more than can be forwarded, and prints what became of all of it; a push that waited for Kafka would take seconds. */
public final class ForwarderCheck {
    private static final int PUSHES = 200_000;

    public static void main(String[] arguments) throws Exception {
        TelemetryForwarder forwarder = new TelemetryForwarder();
        forwarder.configure(Map.of(
            "node.id", "1",
            "kafkabal.telemetry.bootstrap.servers", "127.0.0.1:1",
            "kafkabal.telemetry.queue.bytes", "1000000"));
        forwarder.clientReceiver();
        ClientTelemetryPayload payload = new Payloads();
        for (int i = 0; i < PUSHES; i++) {
            forwarder.exportMetrics(new Context("check"), payload);
        }
        ObjectName name = new ObjectName("kafkabal.telemetry:type=TelemetryForwarder,broker=1");
        MBeanServer server = ManagementFactory.getPlatformMBeanServer();
        Object received = server.getAttribute(name, "Received");
        Object dropped = server.getAttribute(name, "Dropped");
        // the first one waits for the topic until max.block.ms, and the next one for as long
        while (server.getAttribute(name, "Failed").equals(0L)) {
            Thread.sleep(50);
        }
        boolean hasEnded = endsQuietly(forwarder);
        System.out.println("{\"received\":" + received + ",\"dropped\":" + dropped + ",\"ended\":" + hasEnded
            + ",\"failed\":" + failedWithoutProducer() + "}");
        Runtime.getRuntime().halt(0);
    }

    /** Whether the sender ends without an exception when it is closed while it waits for Kafka. */
    private static boolean endsQuietly(TelemetryForwarder forwarder) throws Exception {
        AtomicBoolean isQuiet = new AtomicBoolean(true);
        Thread sender = Thread.getAllStackTraces().keySet().stream()
            .filter(thread -> thread.getName().equals("kafkabal-telemetry-sender")).findFirst().orElseThrow();
        sender.setUncaughtExceptionHandler((thread, error) -> isQuiet.set(false));
        forwarder.close();
        sender.join(10_000);
        return isQuiet.get() && !sender.isAlive();
    }

    /** How many of two payloads, the first of a client without an id, count as failed while no producer can be made. */
    private static Object failedWithoutProducer() throws Exception {
        TelemetryForwarder forwarder = new TelemetryForwarder();
        forwarder.configure(Map.of("node.id", "2", "kafkabal.telemetry.bootstrap.servers", "no port"));
        forwarder.clientReceiver();
        forwarder.exportMetrics(new Context(null), new Payloads());
        forwarder.exportMetrics(new Context("check"), new Payloads());
        ObjectName name = new ObjectName("kafkabal.telemetry:type=TelemetryForwarder,broker=2");
        Object failed = 0L;
        for (int i = 0; i < 100 && !failed.equals(2L); i++) {
            Thread.sleep(50);
            failed = ManagementFactory.getPlatformMBeanServer().getAttribute(name, "Failed");
        }
        return failed;
    }

    private static final class Payloads implements ClientTelemetryPayload {
        private final ByteBuffer data = ByteBuffer.allocate(1000);

        @Override
        public Uuid clientInstanceId() {
            return new Uuid(1, 2);
        }

        @Override
        public boolean isTerminating() {
            return false;
        }

        @Override
        public String contentType() {
            return "OTLP";
        }

        @Override
        public ByteBuffer data() {
            return data;
        }
    }

    private static final class Context implements AuthorizableRequestContext {
        private final String clientId;

        Context(String clientId) {
            this.clientId = clientId;
        }

        @Override
        public String listenerName() {
            return "PLAINTEXT";
        }

        @Override
        public SecurityProtocol securityProtocol() {
            return SecurityProtocol.PLAINTEXT;
        }

        @Override
        public KafkaPrincipal principal() {
            return KafkaPrincipal.ANONYMOUS;
        }

        @Override
        public InetAddress clientAddress() {
            return InetAddress.getLoopbackAddress();
        }

        @Override
        public int requestType() {
            return 72;
        }

        @Override
        public int requestVersion() {
            return 0;
        }

        @Override
        public String clientId() {
            return clientId;
        }

        @Override
        public int correlationId() {
            return 1;
        }
    }
}
